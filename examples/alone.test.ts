import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startAnthropicServer, startChatCompletionsServer } from "../src/testing/index.js";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..");

/** All that these doors load of other packages; optional peers apart, which are asked for by name when one uses them. */
const LOADED = ["uuid", "zod"];

let project: string;
beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "longhand-alone-"));
  await run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", project], { cwd: ROOT });
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  await run("tar", ["-xzf", `longhand-${version}.tgz`], { cwd: project });
  mkdirSync(join(project, "node_modules"));
  renameSync(join(project, "package"), join(project, "node_modules/longhand"));
  for (const name of LOADED)
    symlinkSync(join(ROOT, "node_modules", name), join(project, "node_modules", name), "dir");
  writeFileSync(join(project, "package.json"), '{ "name": "alone", "private": true, "type": "module" }');
  cpSync(join(import.meta.dirname, "alone.mjs"), join(project, "alone.mjs"));
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("the words and the providers, alone in another project", () => {
  it("talk to a model, try again, and hand the conversation to another", async () => {
    const [chat, anthropic] = [await startChatCompletionsServer(), await startAnthropicServer()];
    chat.next({ do: "rate-limit", retryAfterS: 0 }, { do: "say", text: "Paris." });
    anthropic.next({ do: "say", text: "Madrid." });
    try {
      const { stdout } = await run(process.execPath, ["alone.mjs"], {
        cwd: project,
        env: {
          OPENAI_BASE_URL: chat.baseUrl,
          OPENAI_MODEL: "gpt-4.1",
          ANTHROPIC_BASE_URL: anthropic.baseUrl,
        },
      });
      expect(stdout).toMatch(/openai: error \(rate_limit: HTTP 429: .*\)\nParis\.\n {2}openai: stop\n/);
      expect(stdout).toMatch(/Madrid\.\n {2}anthropic: stop\n7 characters, 4 tokens\n$/);
      expect(String(anthropic.requests[0]?.body)).toContain("Paris.");
    } finally {
      await Promise.all([chat.close(), anthropic.close()]);
    }
  });

  it("find the doors they need in the package, the one for tests too, and no other package", async () => {
    const program = `
      import * as message from "longhand/message";
      import * as provider from "longhand/provider";
      import * as testing from "longhand/testing";
      const server = await testing.startGeminiServer();
      await server.close();
      console.log(typeof message.UserMessage.text, typeof provider.call);
      await import("longhand").catch(({ code }) => console.log(code));`;
    writeFileSync(join(project, "doors.mjs"), program);
    const { stdout } = await run(process.execPath, ["doors.mjs"], { cwd: project });
    // The gateway wants what was not installed here: so nothing came from anywhere else.
    expect(stdout).toBe("function function\nERR_MODULE_NOT_FOUND\n");
  });

  it("load what docs/providers.md says, and nothing else", () => {
    const { always, asked } = loadedBy("message", "provider");
    expect(always).toEqual(LOADED);
    const page = readFileSync(join(ROOT, "docs/providers.md"), "utf8");
    for (const name of [...always, ...asked]) expect(page).toContain(`\`${name}\``);
    expect(loadedBy("testing")).toEqual({ always: [], asked: ["@smithy/eventstream-codec"] });
    expect(loadedBy("gateway").always.length).toBeGreaterThan(LOADED.length);
  });
});

/** Packages that doors of the built package import: at once, or when something is asked for that needs them. */
function loadedBy(...doors: string[]): { always: string[]; asked: string[] } {
  const seen = new Set<string>();
  const [always, asked] = [new Set<string>(), new Set<string>()];
  const walk = (file: string, later: boolean): void => {
    if (seen.has(`${file} ${later}`) || !existsSync(file)) return;
    seen.add(`${file} ${later}`);
    const text = readFileSync(file, "utf8");
    for (const [, kind = "", path = ""] of text.matchAll(/\b(from|import\s*\(|import)\s*"([^"]+)"/g)) {
      const isLater = later || kind.includes("(");
      if (path.startsWith(".")) walk(resolve(dirname(file), path), isLater);
      else if (!path.startsWith("node:")) (isLater ? asked : always).add(packageOf(path));
    }
  };
  for (const door of doors) walk(join(ROOT, "dist", door, "index.js"), false);
  expect(seen.size).toBeGreaterThan(5);
  return { always: [...always].sort(), asked: [...asked].filter((name) => !always.has(name)).sort() };
}

function packageOf(path: string): string {
  return path.split("/", path.startsWith("@") ? 2 : 1).join("/");
}
