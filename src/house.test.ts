import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { describe, expect, it } from "vitest";

/** Who may import whom, as docs/house.md draws it. `interface` rooms may only be entered by the named file. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  message: [],
  provider: ["message"],
  context: ["message"],
  store: ["message"],
  channel: ["message"],
  agent: ["message", "provider"],
  gateway: ["message", "context", "agent", "store/store", "channel/channel"],
  "app/server": ["message", "gateway"],
  "app/client": ["message"],
  "app/web": ["message", "app/client"],
  testing: ["message", "context", "provider", "agent", "gateway", "store/memory"],
  "app/cli": [
    "message",
    "provider",
    "context",
    "store",
    "channel",
    "agent",
    "gateway",
    "app/server",
    "app/client",
  ],
};
const SOURCE = join(import.meta.dirname);
const MAX_LINES = 500;

const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && statSync(join(SOURCE, name)).isFile())
  .map((name) => ({ name: name.replaceAll("\\", "/"), text: readFileSync(join(SOURCE, name), "utf8") }));
const sources = files.filter(({ name }) => !/\.test\.tsx?$/.test(name));

describe("the house", () => {
  it("has files to look at in every room", () => {
    for (const room of Object.keys(MAY_IMPORT)) {
      expect(sources.filter(({ name }) => roomOf(name) === room).length, room).toBeGreaterThan(0);
    }
  });

  it("lets no room import another against the table", () => {
    const broken: string[] = [];
    let looked = 0;
    for (const { name, text } of sources) {
      for (const target of importsOf(name, text)) {
        looked++;
        if (!isAllowed(name, target)) broken.push(`${name} imports ${target}`);
      }
    }
    expect(looked).toBeGreaterThan(100);
    expect(broken).toEqual([]);
  });

  it("notices an import against the table", () => {
    expect(isAllowed("channel/webhook.ts", "store/store")).toBe(false);
    expect(isAllowed("gateway/turn.ts", "store/sqlite")).toBe(false);
    expect(isAllowed("agent/run.ts", "store/store")).toBe(false);
    expect(isAllowed("gateway/turn.ts", "store/store")).toBe(true);
    expect(isAllowed("context/assemble.ts", "provider/index")).toBe(false);
  });

  it("has every file in a room", () => {
    expect(sources.map(({ name }) => name).filter((name) => roomOf(name) === null)).toEqual([]);
  });

  it("has no file longer than a reader can hold", () => {
    const long = files.filter(({ text }) => text.split("\n").length > MAX_LINES).map(({ name }) => name);
    expect(long).toEqual([]);
  });

  it("has no type that says nothing", () => {
    const silenced = /:\s*any\b|\bas any\b|<any>|as unknown as|@ts-ignore|@ts-expect-error/;
    const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    const found = sources.filter(({ text }) => silenced.test(withoutComments(text)) || /@ts-/.test(text));
    expect(found.map(({ name }) => name)).toEqual([]);
  });

  it("has doors that exist: every export of the package is built from a source file", () => {
    const { exports } = JSON.parse(readFileSync(join(SOURCE, "../package.json"), "utf8")) as {
      exports: Record<string, string | { default: string }>;
    };
    const doors = Object.values(exports).flatMap((door) => (typeof door === "string" ? [] : [door.default]));
    const missing = doors
      .map((door) => door.replace("./dist/", "").replace(/\.js$/, ".ts"))
      .filter((name) => !sources.some((source) => source.name === name));
    expect(doors.length).toBeGreaterThan(5);
    expect(missing).toEqual([]);
  });
});

describe("the package", () => {
  const root = join(SOURCE, "..");
  const npm = (...words: string[]) => execFileSync("npm", words, { cwd: root, encoding: "utf8" });
  const [packed] = JSON.parse(npm("pack", "--dry-run", "--json", "--ignore-scripts", "--silent")) as {
    files: { path: string }[];
  }[];
  const published = new Set(packed?.files.map(({ path }) => path));
  const imports = [...published]
    .filter((path) => /^dist\/(?!web\/|app\/command\/).*\.js$/.test(path))
    .flatMap((path) => {
      const text = readFileSync(join(root, path), "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
      const found = text.matchAll(
        /^(?:import|export)\b(?:[^"';]*\bfrom)? ?"([^"]+)";$|\bimport\("([^"]+)"\)/gm,
      );
      return [...found].map(([, fixed, late]) => ({ path, target: fixed ?? late ?? "" }));
    });

  it("holds every file that one of its files imports", () => {
    const missing = imports
      .filter(({ target }) => target.startsWith("."))
      .map(({ path, target }) => ({ path, target: join(dirname(path), target).replaceAll("\\", "/") }))
      .filter(({ target }) => !published.has(target));
    expect(imports.length).toBeGreaterThan(1000);
    expect(missing).toEqual([]);
  });

  it("asks for every package that one of its files imports", () => {
    const { dependencies, peerDependencies } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8"),
    ) as Record<"dependencies" | "peerDependencies", Record<string, string>>;
    const asked = new Set(Object.keys({ ...dependencies, ...peerDependencies }));
    const packageOf = (target: string) => target.split("/", target.startsWith("@") ? 2 : 1).join("/");
    const missing = imports
      .filter(({ target }) => !target.startsWith(".") && !target.startsWith("node:"))
      .filter(({ target }) => !asked.has(packageOf(target)));
    expect(missing).toEqual([]);
  });
});

function roomOf(name: string): string | null {
  return Object.keys(MAY_IMPORT).find((room) => name.startsWith(`${room}/`)) ?? null;
}

/** Relative imports of a file, as paths below src without their ending. */
function importsOf(name: string, text: string): string[] {
  const found = [...text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map((match) => match[1] ?? "");
  return found
    .map((path) => relative(SOURCE, normalize(join(SOURCE, dirname(name), path))).replaceAll("\\", "/"))
    .map((path) => path.replace(/\.(js|tsx?|css)$/, ""));
}

function isAllowed(from: string, target: string): boolean {
  const room = roomOf(from);
  const other = roomOf(`${target}/`);
  if (room === null) return false;
  if (other === room || target.startsWith(`${room}/`)) return true;
  return (MAY_IMPORT[room] ?? []).some((allowed) => target === allowed || target.startsWith(`${allowed}/`));
}
