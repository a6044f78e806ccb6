import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import type { Route } from "./app/server/route.js";
import { AUDIENCE } from "./message/index.js";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const below = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) =>
    join(folder, name).replaceAll("\\", "/"),
  );

const pages = [...readdirSync(ROOT), ...below("docs")]
  .filter((name) => name.endsWith(".md"))
  .map((name) => ({ name, text: read(name) }));
const sources = below("src")
  .filter((name) => /\.tsx?$/.test(name) && !/\.test\.tsx?$|\/testing\//.test(name))
  .map((name) => ({ name, text: read(name) }));

/** The rows of all tables of a page, as cells. */
function rowsOf(text: string): string[][] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| ---"))
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .map((cells) => cells.slice(1, -1));
}

const inTicks = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, word = ""]) => word);
const withoutCode = (text: string): string => text.replace(/```[\s\S]*?```/g, "").replace(/`[^`\n]*`/g, "");

/** What is in one and not in the other; nothing, when they agree. */
const missing = (from: Iterable<string>, has: Iterable<string>): string[] => {
  const there = new Set(has);
  return [...new Set(from)].filter((word) => !there.has(word)).sort();
};

describe("the pages", () => {
  it("are there", () => {
    expect(pages.length).toBeGreaterThan(20);
  });

  it("link to what exists", () => {
    const broken: string[] = [];
    let looked = 0;
    for (const { name, text } of pages) {
      for (const [, target = ""] of withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        looked++;
        const problem = linkProblem(name, target);
        if (problem) broken.push(`${name} → ${target}: ${problem}`);
      }
    }
    expect(looked).toBeGreaterThan(40);
    expect(broken).toEqual([]);
  });

  it("are all within reach of the README", () => {
    const reached = new Set(["README.md"]);
    for (const name of reached) {
      for (const [, target = ""] of withoutCode(read(name)).matchAll(/\]\(([^)#\s]+\.md)/g)) {
        if (!/^[a-z]+:/.test(target)) reached.add(join(dirname(name), target).replaceAll("\\", "/"));
      }
    }
    expect(
      missing(
        pages.map(({ name }) => name),
        reached,
      ),
    ).toEqual([]);
  });

  it("name only files that exist", () => {
    const broken: string[] = [];
    let looked = 0;
    for (const { name, text } of pages) {
      for (const word of inTicks(text)) {
        const path = /^(?:node )?((?:src|docs|examples|bench)\/[\w./-]+)$/.exec(word)?.[1];
        if (!path) continue;
        looked++;
        if (!existsSync(join(ROOT, path))) broken.push(`${name}: ${path}`);
      }
    }
    expect(looked).toBeGreaterThan(100);
    expect(broken).toEqual([]);
  });

  it("quote code as it is", () => {
    const broken: string[] = [];
    let looked = 0;
    for (const { name, text } of pages) {
      for (const [, file = "", code = ""] of text.matchAll(/<!-- from (\S+) -->\n```\w*\n([\s\S]*?)```/g)) {
        looked++;
        if (!read(file).includes(code)) broken.push(`${name}: not in ${file}:\n${code}`);
      }
    }
    expect(looked).toBeGreaterThan(4);
    expect(broken).toEqual([]);
  });

  it("speak of nothing but the project", () => {
    const foreign = /(?:^|[\s`"'(=])\/(?:work|tmp|home|root|Users)\/|\bTODO\b(?!\])/m;
    expect(pages.filter(({ text }) => foreign.test(text)).map(({ name }) => name)).toEqual([]);
  });
});

describe("the README", () => {
  it("names every door of the package", () => {
    const doors = Object.keys((JSON.parse(read("package.json")) as { exports: object }).exports)
      .filter((door) => door !== "./package.json")
      .map((door) => door.replace(/^\./, "longhand"));
    const named = rowsOf(read("README.md")).flatMap(([cell = ""]) => {
      const [first = "", ...others] = inTicks(cell);
      return [first, ...others.map((end) => first + end)];
    });
    expect(doors.length).toBeGreaterThan(10);
    expect(missing(doors, named)).toEqual([]);
  });

  it("is one screen", () => {
    expect(read("README.md").split("\n").length).toBeLessThan(90);
  });
});

describe("docs/configuration.md", () => {
  it("names every variable that is read, and no other", () => {
    const used = sources.flatMap(({ text }) => [
      ...[...text.matchAll(/\benv\.([A-Z][A-Z0-9_]+)/g)].map(([, name = ""]) => name),
      ...[...text.matchAll(/\(env, "([A-Z][A-Z0-9_]+)"/g)].map(([, name = ""]) => name),
      ...[...text.matchAll(/\{([^{}]*)\} = env\b/g)].flatMap(
        ([, names = ""]) => names.match(/[A-Z][A-Z0-9_]+/g) ?? [],
      ),
    ]);
    const told = rowsOf(read("docs/configuration.md")).flatMap(([cell = ""]) => inTicks(cell));
    expect(used.length).toBeGreaterThan(10);
    expect(missing(used, told), "read, but not told").toEqual([]);
    expect(missing(told, used), "told, but not read").toEqual([]);
  });
});

describe("docs/api.md", () => {
  const told = rowsOf(read("docs/api.md")).flatMap(([call = "", , scope = "", status = ""]) => {
    const [, method, path] = /^`(GET|POST|PATCH|DELETE) (\/\S*)`$/.exec(call) ?? [];
    return method ? [{ call: `${method} ${path}`, scope, status }] : [];
  });

  it("names every call with its scope and its answer, and no other", async () => {
    const folder = join(import.meta.dirname, "app/server/routes");
    const tables = await Promise.all(
      readdirSync(folder).map((name) => import(/* @vite-ignore */ join(folder, name))),
    );
    const routes = tables.flatMap((table) => Object.values(table).flat() as Route[]);
    const spelled = routes.map(
      ({ method, path, scope, answers }) => `${method} ${braced(path)} ${scope} ${answers.status}`,
    );
    expect(routes.length).toBeGreaterThan(20);
    expect(
      missing(
        spelled,
        told.map(({ call, scope, status }) => `${call} ${scope} ${status}`),
      ),
    ).toEqual([]);
    expect(
      missing(
        told.map(({ call }) => call),
        [...routes.map(callOf), ...plainCalls()],
      ),
    ).toEqual([]);
  });

  it("names what the server serves besides", () => {
    expect(plainCalls().length).toBeGreaterThan(5);
    expect(
      missing(
        plainCalls(),
        told.map(({ call }) => call),
      ),
    ).toEqual([]);
  });

  it("names every setting of a chat", async () => {
    const { Chat } = await import("./message/index.js");
    const [, shape = ""] = /\*\*chat\*\* `\{([^}]+)\}`/.exec(read("docs/api.md")) ?? [];
    const words = shape.split(",").map((word) => word.replace("[]", "").trim());
    expect(missing(Object.keys(Chat.shape), words)).toEqual([]);
    expect(missing(words, Object.keys(Chat.shape))).toEqual([]);
  });

  /** Calls that stand in no table of routes. */
  function plainCalls(): string[] {
    const server = read("src/app/server/server.ts");
    const gets = [...server.matchAll(/app\.get(?:<[^(]*>)?\("([^"]+)"/g)].map(
      ([, path = ""]) => `GET ${braced(path)}`,
    );
    const others = [...server.matchAll(/method: \[([^\]]+)\],\s*url: "([^"]+)"/g)].flatMap(
      ([, methods = "", url = ""]) =>
        [...methods.matchAll(/"(\w+)"/g)].map(([, method = ""]) => `${method} ${braced(url)}`),
    );
    return [...gets, ...others];
  }
  const callOf = ({ method, path }: Route): string => `${method} ${braced(path)}`;
});

describe("docs/chats.md", () => {
  const settings = rowsOf(
    /## Settings of a chat([\s\S]*?)\n## /.exec(read("docs/chats.md"))?.[1] ?? "",
  ).slice(1);

  it("says of every setting what it is when not given", async () => {
    const { chatWithDefaults } = await import("./message/index.js");
    const { jid: _, ...defaults } = chatWithDefaults({ jid: "c" }, "Longhand", []);
    const told = new Map(
      settings.map(([name = "", value = ""]) => [inTicks(name)[0] ?? "", inTicks(value)[0]]),
    );
    expect(missing(Object.keys(defaults), told.keys())).toEqual([]);
    expect(missing(told.keys(), Object.keys(defaults))).toEqual([]);
    const made = ["name", "assistant_name", "aliases", "bot_id", "budget"];
    for (const [name, value] of Object.entries(defaults)) {
      if (!made.includes(name)) expect(told.get(name), name).toBe(JSON.stringify(value));
    }
  });

  it("names every reason for which a message is answered, or not", async () => {
    const { RUN_REASONS, QUIET_REASONS } = await import("./gateway/admission.js");
    const [, page = ""] = read("docs/chats.md").split("## Why did it not answer?");
    const told = rowsOf(page).flatMap(([, , reasons = ""]) => inTicks(reasons));
    expect(missing([...RUN_REASONS, ...QUIET_REASONS], told)).toEqual([]);
  });
});

describe("docs/commands.md", () => {
  it("names every command", () => {
    const commands = [...read("src/app/cli/commands.ts").matchAll(/\bname: "(\w+)"/g)].map(
      ([, name = ""]) => name,
    );
    const told = [...read("docs/commands.md").matchAll(/^\| `longhand (\w+)/gm)].map(([, name = ""]) => name);
    expect(commands.length).toBeGreaterThan(5);
    expect(missing(commands, told)).toEqual([]);
    expect(missing(told, commands)).toEqual([]);
  });
});

describe("docs/messages.md", () => {
  it("has the one table of who sees what", () => {
    const [, page = ""] = read("docs/messages.md").split("## Rows");
    const told = rowsOf(page)
      .slice(1)
      .map((cells) => cells.slice(0, 3).map((cell) => inTicks(cell)[0] ?? ""));
    const table = Object.entries(AUDIENCE).map(([sender, { messageType, toModel }]) => [
      sender,
      messageType,
      toModel,
    ]);
    expect(told.sort()).toEqual(table.sort());
  });
});

describe("docs/house.md", () => {
  it("has every room of the import table", () => {
    const [, table = ""] = /MAY_IMPORT[^=]*= \{([\s\S]*?)\n\};/.exec(read("src/house.test.ts")) ?? [];
    const rooms = [...table.matchAll(/^ {2}"?([\w/]+)"?: \[([^\]]*)\]/gm)].map(
      ([, room = "", others = ""]) => [
        room,
        // The command line may enter every room but the page; the page of the docs says that in words.
        ...(room === "app/cli" ? ["app/web"] : (others.match(/[\w/]+/g) ?? [])),
      ],
    );
    const told = rowsOf(read("docs/house.md"))
      .slice(1)
      .map(([room = "", others = ""]) => [...inTicks(room), ...inTicks(others)]);
    expect(rooms.length).toBeGreaterThan(8);
    expect(told.sort()).toEqual(rooms.sort());
  });
});

describe("docs/seeds.md", () => {
  it("names tests that exist, in the files that hold them", () => {
    const broken: string[] = [];
    let looked = 0;
    for (const [, , held = ""] of rowsOf(read("docs/seeds.md"))) {
      let file = "";
      for (const [, path, name] of held.matchAll(/`([^`]+)`|“([^”]+)”/g)) {
        if (path) file = path;
        if (!name) continue;
        looked++;
        if (!existsSync(join(ROOT, file)) || !read(file).includes(`"${name}"`))
          broken.push(`${file}: ${name}`);
      }
    }
    expect(looked).toBeGreaterThan(50);
    expect(broken).toEqual([]);
  });

  it("names functions that are exported where it says", () => {
    const names = rowsOf(read("docs/seeds.md")).filter(([, door = ""]) => door.startsWith("`longhand"));
    expect(names.length).toBeGreaterThan(5);
    for (const [cell = "", , place = ""] of names) {
      const text = read(inTicks(place)[0] ?? "");
      for (const name of inTicks(cell)) {
        expect(text, name).toMatch(
          new RegExp(`export (?:async )?(?:function|const|class) ${name}\\b|async ${name}\\(`),
        );
      }
    }
  });
});

function braced(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

function linkProblem(page: string, target: string): string | null {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : join(dirname(page), path);
  if (!existsSync(join(ROOT, file))) return "no such file";
  if (relative(ROOT, join(ROOT, file)).startsWith("..")) return "outside the repository";
  if (anchor === undefined) return null;
  return headingsOf(read(file)).includes(anchor) ? null : "no such heading";
}

/** The anchors of a page's headings, as the usual renderers make them. */
function headingsOf(text: string): string[] {
  const headings = [...text.replace(/```[\s\S]*?```/g, "").matchAll(/^#+ (.+)$/gm)];
  return headings.map(([, words = ""]) =>
    words
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-"),
  );
}
