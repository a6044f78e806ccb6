import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../testing/serverProcess.js";
import { mcpTools } from "./mcp.js";

const folder = mkdtempSync(join(tmpdir(), "longhand-mcp-"));
afterAll(() => rmSync(folder, { recursive: true }));
const HOSTILE = join(import.meta.dirname, "../../agent/fixtures/hostileMcp.mjs");

const variable = (name: string): string => `$\{${name}}`;

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

describe("LONGHAND_MCP", () => {
  it("adds the servers it names to the built-in tools, with secrets from the environment", async () => {
    const server = {
      command: process.execPath,
      args: [HOSTILE],
      env: { KEY: variable("MY_KEY"), MODE: variable("NONE:-plain") },
    };
    const LONGHAND_MCP = file("mcp.json", {
      mcpServers: {
        files: server,
        other: { url: "http://127.0.0.1:9/", headers: { authorization: variable("NOT_SET") } },
      },
    });
    const logged: string[] = [];
    const mcp = await mcpTools({ LONGHAND_MCP, MY_KEY: "canary-0123456789" }, (_, event, ids) =>
      logged.push(`${event} ${ids.why ?? ids.line}`),
    );
    const names = mcp.tools.map(({ name }) => name);
    const fails = mcp.tools.find(({ name }) => name === "files__fail");
    const context = { chat_jid: "", turn_id: "", call_id: "", time_zone: "", now: () => 0 };
    const signal = new AbortController().signal;
    await expect(fails?.run({}, { ...context, signal })).rejects.toThrow("no luck with [secret]");
    await mcp.close();
    expect(names.slice(0, 2)).toEqual(["clock", "files__echo"]);
    expect(mcp.problems[0]).toBe("mcpServers.other: set NOT_SET in the environment, which it names");
    expect(logged).toContain(`mcp.problem ${mcp.problems[0]}`);
  });

  it("is seen to work: the server names its tools when it starts", async () => {
    const LONGHAND_MCP = file("start.json", {
      mcpServers: { files: { command: process.execPath, args: [HOSTILE] } },
    });
    const [plain, server] = [await ServerProcess.start(), await ServerProcess.start({ LONGHAND_MCP })];
    const printed = [plain.printed, server.printed];
    await Promise.all([plain.dispose(), server.dispose()]);
    expect(printed[0]).not.toContain("  tools ");
    expect(printed[1]).toMatch(/^ {2}tools {3}clock, files__echo, .* and \d+ more$/m);
  });

  it("leaves the built-in tools alone when it is not set", async () => {
    expect((await mcpTools({}, () => {})).tools.map(({ name }) => name)).toEqual(["clock"]);
  });

  it("that names no readable file is a wrong setting, and says which", async () => {
    await expect(mcpTools({ LONGHAND_MCP: join(folder, "nowhere.json") }, () => {})).rejects.toThrow(
      /LONGHAND_MCP is ".*nowhere\.json", which cannot be read/,
    );
    const LONGHAND_MCP = file("broken.json", "{ not json");
    await expect(mcpTools({ LONGHAND_MCP }, () => {})).rejects.toThrow(/broken\.json/);
  });
});
