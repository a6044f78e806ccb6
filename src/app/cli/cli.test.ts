import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort, ServerProcess } from "../../testing/serverProcess.js";

const MAIN = fileURLToPath(new URL("../../../dist/app/command/main.js", import.meta.url));

type Ended = { code: number | null; out: string; err: string };

describe("the command line", () => {
  let server: ServerProcess;
  let elsewhere: string;
  beforeAll(async () => {
    server = await ServerProcess.start({ LONGHAND_SHELL: "none" });
    elsewhere = mkdtempSync(join(tmpdir(), "longhand-cli-"));
  });
  afterAll(async () => {
    await server.dispose();
    rmSync(elsewhere, { recursive: true, force: true });
  });

  const run = (args: string[], env: Record<string, string> = {}, input = ""): Promise<Ended> =>
    new Promise((resolve) => {
      const here = { LONGHAND_PORT: String(server.port), LONGHAND_TOKEN: server.token };
      const child = spawn(process.execPath, [MAIN, ...args], {
        cwd: elsewhere,
        env: { PATH: process.env.PATH ?? "", ...here, ...env },
      });
      const ended: Ended = { code: null, out: "", err: "" };
      child.stdout.on("data", (chunk) => {
        ended.out += chunk;
      });
      child.stderr.on("data", (chunk) => {
        ended.err += chunk;
      });
      child.on("close", (code) => resolve({ ...ended, code }));
      child.stdin.end(input);
    });

  it("says something and shows the answer, and then why, and what the model saw", async () => {
    const said = await run(["send", "hello", "there", "--as", "Olivia"]);
    expect(said).toMatchObject({ code: 0, err: "" });
    expect(said.out).toContain("hello there");
    const [asked] = (await run(["log", "--json"])).out.split("\n").map((line) => JSON.parse(line || "{}"));
    expect(asked).toMatchObject({ content: "hello there", sender_name: "Olivia", sender: "tui-user" });
    expect((await run(["why", asked.id])).out).toMatch(
      /^answered: always\nIt was answered, because every message is answered here\.\n/,
    );
    const [call] = (await run(["calls", "--json"])).out.split("\n").map((line) => JSON.parse(line || "{}"));
    const raw = await run(["call", call.id, "--raw"]);
    expect(JSON.parse(raw.out).messages.at(-1).content).toContain("[Olivia]: hello there");
    expect((await run(["call", call.id])).out).toContain(call.request_sha256);
  });

  it("compares two calls, and gives one of them to a model once more", async () => {
    await run(["send", "first", "--as", "Olivia"]);
    await run(["settings", "home", "system_prompt=Be kind."]);
    await run(["send", "second", "--as", "Olivia"]);
    await run(["settings", "home", "system_prompt=null"]);
    const ids = (await run(["calls", "--json"])).out
      .trim()
      .split("\n")
      .map((line): string => JSON.parse(line).id);
    const [a = "", b = ""] = [ids.at(0), ids.at(-1)];
    const { out } = await run(["diff", a, b]);
    expect(out).toMatch(/they part at block \d+, system \(prompt home\)\./);
    expect(out).toMatch(/^why {3}at block \d+: the system prompt changed/m);
    expect(out).toMatch(/^~ changed {2}system \(prompt home\)\n.*\n {4}\+ Be kind\.$/m);
    expect(out).toMatch(/sent again behind the difference \(about \d+ tokens, estimated/);
    const again = await run(["replay", a, "--model", "demo/demo"]);
    expect(again.out).toContain("The context was the same, byte for byte.");
    expect(again.out).toContain("(asks for the tool clock) {}");
    expect(again.out).toContain("They were not run");
    expect(JSON.parse((await run(["replay", a, "--json"])).out).replay.call.replay_of).toBe(a);
    expect(await run(["diff", a])).toMatchObject({ code: 2 });
    expect(await run(["replay", a, "--model", "nobody/knows"])).toMatchObject({
      code: 4,
      err: expect.stringContaining("type one such as"),
    });
  });

  it("keeps every name and word as it was typed", async () => {
    for (const jid of ["007", "1e3", "+4512345678", "1234567890123456789"]) {
      expect((await run(["register", jid, "--trigger", "always"])).code, jid).toBe(0);
      expect(
        (await run(["send", "--chat", jid, "--as", "0042", "--no-wait", "--", "-5", "degrees"])).code,
        jid,
      ).toBe(0);
      const [row] = await server.messages(jid);
      expect(row, jid).toMatchObject({ content: "-5 degrees", sender_name: "0042" });
    }
    await run(["send", "--chat", "007", "--no-wait"], {}, "through a pipe\n");
    expect((await server.messages("007")).map((row) => row.content)).toContain("through a pipe");
  });

  it("knows who is who, and lets a person in by a link of their own", async () => {
    expect((await run(["people"])).out).toContain("longhand people add");
    expect(await run(["people", "add", "Olivia", "slack:U1"])).toMatchObject({ code: 0, err: "" });
    await run(["people", "assign", "olivia", "whatsapp:45", "bb:+45"]);
    await run(["people", "unassign", "olivia", "bb:+45"]);
    expect((await run(["people"])).out).toBe("olivia  Olivia  slack:U1 web:olivia whatsapp:45\n");
    expect(JSON.parse((await run(["people", "--json"])).out)).toMatchObject({ id: "olivia", name: "Olivia" });
    for (const word of ["olivia", "Olivia"]) {
      const link = await run(["people", "link", word], {
        LONGHAND_URL: `http://localhost:${server.port}/`,
      });
      expect(link.out).toMatch(/^http:\/\/localhost:\d+\/#code=\S{20,}\n$/);
      expect(link.err).toContain("once, for a quarter of an hour");
    }
    await run(["people", "add", "Olivia"]);
    const which = await run(["people", "link", "OLIVIA"]);
    expect(which).toMatchObject({ code: 4, err: expect.stringContaining("olivia and olivia-2") });
    expect((await run(["people", "--help"])).out).toContain("longhand people unassign <id> <sender ids…>");
    expect(await run(["people", "add", "Max", "slack:U1"])).toMatchObject({ code: 4 });
    expect(await run(["people", "assign", "olivia"])).toMatchObject({ code: 2 });
    expect(await run(["people", "dance"])).toMatchObject({ code: 2 });
    expect(await run(["people", "remove", "olivia"])).toMatchObject({ code: 0 });
    expect(await run(["people", "remove", "olivia-2"])).toMatchObject({ code: 0 });
    const nobody = await run(["people", "link", "olivia"]);
    expect(nobody).toMatchObject({ code: 4, err: expect.stringContaining("no such person: olivia") });
  });

  it("erases a person only when it is meant, and says what it found", async () => {
    await run(["register", "gone", "--trigger", "always"]);
    const said = await server.submit("gone", "hello", { sender_id: "slack:Z1", sender_display_name: "Zoe" });
    await server.outcome("gone", said.body.message_id);
    const unasked = await run(["erase", "slack:Z1"]);
    expect(unasked).toMatchObject({ code: 2, err: expect.stringContaining("--yes") });
    expect(await run(["erase", "slack:nobody", "--yes"])).toMatchObject({ code: 4 });
    const erased = await run(["erase", "slack:Z1", "--yes"]);
    expect(erased).toMatchObject({ code: 0, err: "" });
    expect(erased.out).toMatch(/^Erased: \d+ messages?, 0 files\.\nRedacted: \d+ receipts?\./);
    const [row] = await server.messages("gone");
    expect(row).toMatchObject({ sender: "erased", sender_name: "", content: "" });
    const [call] = (await run(["calls", "--chat", "gone", "--json"])).out.split("\n");
    const { id } = JSON.parse(call ?? "{}");
    expect((await server.ask("GET", `/v1/calls/${id}/request`)).status).toBe(410);
    expect((await server.ask("DELETE", "/v1/senders/slack:Z1")).status).toBe(404);
    expect((await server.ask("DELETE", "/v1/senders/Olivia")).status).toBe(422);
  });

  it("takes an address in with one command, and changes a chat's settings", async () => {
    expect((await run(["addresses"])).out).toContain("Nobody");
    const made = await run(["register", "webhook:room-1", "--name", "Room", "--trigger", "sticky", "--json"]);
    expect(JSON.parse(made.out)).toMatchObject({
      jid: "webhook:room-1",
      name: "Room",
      trigger: "sticky",
      bindings: [{ channel: "webhook", address: "webhook:room-1" }],
    });
    const settings = ["settings", "webhook:room-1", "quiet_ms=250", 'allow=["slack:U1"]', "name=42"];
    expect((await run(settings)).out).toMatch(/^name +42$[\s\S]*^quiet_ms +250$/m);
    expect(await run(["settings", "webhook:room-1", "quiet_ms=soon"])).toMatchObject({ code: 4 });
    expect((await run(["settings", "webhook:room-1"])).out).toMatch(/^allow +\["slack:U1"\]$/m);
    expect(await run(["settings", "webhook:room-1", "nonsense"])).toMatchObject({ code: 2 });
    const pattern = await run(["register", "team", "--pattern", "(?=x)"]);
    expect(pattern).toMatchObject({ code: 4, err: expect.stringContaining("look-around") });
  });

  it("says what is wrong, and what to do, by an exit code that means something", async () => {
    const nobody = { LONGHAND_PORT: String(await freePort()) };
    const expected: [string[], Record<string, string>, number, string][] = [
      [["send", "hi"], nobody, 3, "No server answers"],
      [["send", "hi"], nobody, 3, "LONGHAND_URL"],
      [["log", "-f"], nobody, 3, "No server answers"],
      [["send"], {}, 2, "Say something"],
      [["bogus"], {}, 2, "bogus"],
      [["call"], {}, 2, "<id> is missing"],
      [["call", "nope"], {}, 4, "no such call"],
      [["log", "--count", "0"], {}, 2, "--count"],
      [["log", "--colour"], {}, 2, "--colour"],
      [["send", "--chat", "nowhere", "hi"], {}, 4, "no such chat: nowhere"],
      [["settings", "nowhere"], {}, 4, "no such chat: nowhere"],
      [["why", "--chat", "nowhere"], {}, 4, "no such chat: nowhere"],
      [["why", "999"], {}, 4, "999"],
      [["register", "k2", "--address", "kitchen2"], {}, 2, "such as webhook:kitchen"],
      [["start"], { LONGHAND_DATA: server.data }, 2, `at ${server.baseUrl} (process `],
      [["chats"], { LONGHAND_URL: "127.0.0.1:1" }, 2, "LONGHAND_URL"],
      [["start"], { LONGHAND_MODEL: "foo" }, 2, "names no model"],
      [["start"], { LONGHAND_HOST: "0.0.0.0", LONGHAND_TOKEN: "" }, 2, "LONGHAND_TOKEN"],
      [["start"], { LONGHAND_DATA: MAIN }, 3, "LONGHAND_DATA"],
    ];
    for (const [args, env, code, words] of expected) {
      const ended = await run(args, env);
      expect(
        [ended.code, ended.err.includes(words), ended.err.includes("    at ")],
        `${args} ${ended.err}`,
      ).toEqual([code, true, false]);
    }
    await run(["register", "quiet"]);
    const unanswered = await run(["send", "--chat", "quiet", "hello"]);
    expect(unanswered).toMatchObject({ code: 4, err: expect.stringContaining("@Longhand") });
    const why = await run(["why", "--chat", "quiet"]);
    expect(why.out).toMatch(/^ambient: no trigger\n.*begins with @Longhand.*only at the start/);
  });

  it("shows all that a command printed, and of a long list how much more there is", async () => {
    await run(["settings", "home", 'shell_allow=["tui-user"]']);
    expect((await run(["send", "!seq 1 3"])).out).toMatch(/✅ 1\n +2\n +3\n$/);
    expect((await run(["send", "!seq 1 50"])).out).toMatch(/ 40\n +\(10 more lines\)\n$/);
  });

  it("explains the last message said, or one by its number", async () => {
    await run(["register", "asked", "--trigger", "always"]);
    expect((await run(["why", "--chat", "asked"])).err).toContain("Nothing was said in asked yet");
    await run(["send", "--chat", "asked", "one"]);
    await run(["send", "--chat", "asked", "two"]);
    const rows = await server.messages("asked");
    const [one, two] = ["one", "two"].map((content) => rows.find((row) => row.content === content));
    expect((await run(["log", "--chat", "asked", "--ids"])).out).toContain(`#${two?.seq} ${two?.id}\n`);
    const asked = async (...words: string[]) =>
      JSON.parse((await run(["why", "--chat", "asked", "--json", ...words])).out).message_id;
    expect([await asked(), await asked(`${one?.seq}`), await asked(`#${two?.seq}`)]).toEqual([
      two?.id,
      one?.id,
      two?.id,
    ]);
  });

  it("finds the server of a folder on whatever port it is, and only while it is there", async () => {
    const other = await ServerProcess.start({ LONGHAND_URL: "http://home.example/" });
    const file = join(other.data, "address");
    const here = { LONGHAND_PORT: "", LONGHAND_DATA: other.data };
    expect(other.printed).toContain("talk    http://home.example/#code=");
    expect((await run(["link"], here)).out).toContain(`${other.baseUrl}/#code=`);
    await other.down("SIGTERM");
    expect(existsSync(file)).toBe(false);
    await other.up();
    expect(existsSync(file)).toBe(true);
    await other.down("SIGKILL");
    expect(existsSync(file)).toBe(true);
    // The port of a server that was killed may be anybody's by now.
    let asked = false;
    const stranger = createServer((_, response) => {
      asked = true;
      response.end("{}");
    });
    await new Promise<void>((resolve) => stranger.listen(other.port, "127.0.0.1", resolve));
    await run(["link"], here);
    stranger.close();
    expect(asked).toBe(false);
    await other.dispose();
  });

  it("hands this folder's token to nobody else, and makes none of its own", async () => {
    let heard: string | undefined;
    const stranger = createServer((request, response) => {
      heard = request.headers.authorization;
      response.end("{}");
    });
    await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    const ended = await run(["chats"], { LONGHAND_URL: url, LONGHAND_DATA: server.data, LONGHAND_TOKEN: "" });
    stranger.close();
    expect([ended.code, heard]).toEqual([2, undefined]);
    expect((await run(["chats"], { LONGHAND_TOKEN: "" })).code).toBe(3);
    expect(existsSync(join(elsewhere, "data", "token"))).toBe(false);
  });
});
