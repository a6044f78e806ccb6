import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findIsolation } from "../../agent/index.js";
import { type HeldModel, startHeldModel } from "../../testing/heldModel.js";
import { ServerProcess } from "../../testing/serverProcess.js";

const EXAMPLE = fileURLToPath(new URL("../../../examples/container/agent.mjs", import.meta.url));
/** Tells what it was given: its environment, and the line it read. */
const TELLTALE = `
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const told = JSON.stringify({ env: process.env, line });
  process.stdout.write(JSON.stringify({ type: "result", text: told }) + "\\n");
}
`;

/** Pays, once it may, and writes down which of its calls did; while there is a file `hold` it ends nothing. */
const PAYER = `
import { appendFileSync, existsSync } from "node:fs";
import { createInterface } from "node:readline";
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const send = (...events) => { for (const event of events) process.stdout.write(JSON.stringify(event) + "\\n"); };
const note = (what) => appendFileSync("notes", what + "\\n");
const input = (await lines.next()).value;
const id = String(Math.random());
if (input.includes("interrupted by a restart")) send({ type: "result", text: "I may have paid." });
else {
  send({ type: "tool_use", id, name: "pay" }, { type: "run_tools" });
  note("asked " + id);
  if (!(await lines.next()).done) {
    note("paid " + id);
    while (existsSync("hold")) await new Promise((resolve) => setTimeout(resolve, 10));
    send({ type: "tool_result", id, content: "paid" });
    await lines.next();
    send({ type: "result", text: "Paid." });
  }
}
await lines.next();
`;

describe("a chat that a container answers", () => {
  const folder = mkdtempSync(join(tmpdir(), "longhand-containers-"));
  const paying = join(folder, "paying");
  let server: ServerProcess;
  let model: HeldModel;

  beforeAll(async () => {
    model = await startHeldModel();
    const { bubblewrap } = await findIsolation();
    if (!bubblewrap.works) console.warn(`SKIPPED: the sandbox of containers: ${bubblewrap.why}`);
    const isolation = bubblewrap.works ? "bubblewrap" : "none";
    writeFileSync(join(folder, "telltale.mjs"), TELLTALE);
    writeFileSync(join(folder, "mute.mjs"), "setInterval(() => {}, 1000);");
    mkdirSync(paying);
    writeFileSync(join(paying, "payer.mjs"), PAYER);
    const common = { isolation, reads: [dirname(process.execPath)] };
    const example = {
      ...common,
      command: [process.execPath, EXAMPLE],
      folder: dirname(EXAMPLE),
      network: true,
      env: { OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "held" },
    };
    const containers = {
      example,
      mute: { ...common, command: [process.execPath, join(folder, "mute.mjs")], folder, idle_ms: 400 },
      telltale: {
        ...common,
        command: [process.execPath, join(folder, "telltale.mjs")],
        folder,
        pass_env: ["NAMED"],
      },
      payer: {
        ...common,
        command: [process.execPath, join(paying, "payer.mjs")],
        folder: paying,
        writable: true,
      },
    };
    writeFileSync(join(folder, "containers.json"), JSON.stringify({ containers }));
    server = await ServerProcess.start({
      LONGHAND_CONTAINERS: join(folder, "containers.json"),
      NAMED: "this one may be seen",
      OPENAI_API_KEY: "sk-must-not-be-seen",
    });
    for (const name of Object.keys(containers)) {
      const chat = { jid: name, trigger: "always", model: `container/${name}` };
      expect((await server.ask("POST", "/v1/chats", chat)).status).toBe(201);
    }
  }, 60_000);

  afterAll(async () => {
    await server?.dispose();
    await model?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("is answered, and what is said meanwhile steers it", async () => {
    await server.ask("POST", "/v1/chats/example/host", { content: "host-canary" });
    const { body: first } = await server.submit("example", "what is on today?");
    const call = await model.next();
    expect(call.heard).toEqual(["[Olivia]: what is on today?"]);
    const { body: second } = await server.submit("example", "btw I mean in Aarhus");
    call.say("A concert.");
    const next = await model.next();
    expect(next.heard.at(-1)).toBe("[Olivia]: btw I mean in Aarhus");
    next.say("A concert in Aarhus.");
    const outcome = await server.outcome("example", first.message_id);
    expect(outcome.outcome).toBe("answered");
    expect(await server.outcome("example", second.message_id)).toMatchObject({
      outcome: "steered",
      turn_id: outcome.turn_id,
    });
    expect(await answers("example")).toEqual(["A concert.", "A concert in Aarhus."]);
    for (const id of outcome.call_ids as string[]) {
      const receipt = await server.ask("GET", `/v1/calls/${id}/request`);
      expect(JSON.stringify(receipt.body)).not.toContain("host-canary");
    }
  }, 30_000);

  it("is cut off when it says nothing for too long, and people are told", async () => {
    const { body } = await server.submit("mute", "take your time");
    const outcome = await server.outcome("mute", body.message_id);
    expect(outcome.outcome).toBe("failed");
    const rows = await server.messages("mute");
    expect(
      rows.some((row) => row.sender === "host" && String(row.content).includes("could not answer")),
    ).toBe(true);
  }, 30_000);

  it("is answered once when the server is killed in the middle of it", async () => {
    const { body } = await server.submit("example", "are you there?");
    const before = await model.next();
    before.begin("I was ab");
    await server.down("SIGKILL");
    await server.up();
    const again = await model.next();
    again.say("Here I am.");
    expect((await server.outcome("example", body.message_id)).outcome).toBe("answered");
    expect((await answers("example")).at(-1)).toBe("Here I am.");
    for (let tries = 0; tries < 200 && !before.gone; tries++) await pause();
    expect(before.gone, "the container of the dead server still talks to its model").toBe(true);
  }, 60_000);

  it.each(["asked", "paid"])(
    "runs no tool twice when the server is killed right after it %s",
    async (when) => {
      const notes = join(paying, "notes");
      const noted = (what: string): string[] =>
        (existsSync(notes) ? readFileSync(notes, "utf8").split("\n") : [])
          .filter((line) => line.startsWith(what))
          .map((line) => line.slice(what.length + 1));
      rmSync(notes, { force: true });
      const chat = `payer-${when}`;
      await server.ask("POST", "/v1/chats", { jid: chat, trigger: "always", model: "container/payer" });
      writeFileSync(join(paying, "hold"), "");
      const { body } = await server.submit(chat, "pay the bill");
      for (let tries = 0; tries < 1000 && noted(when).length === 0; tries++) await pause();
      await server.down("SIGKILL");
      rmSync(join(paying, "hold"));
      await server.up();
      expect((await server.outcome(chat, body.message_id)).outcome).toBe("answered");
      const rows = await server.messages(chat);
      const recorded = rows
        .filter(({ sender }) => sender === "tool_use")
        .map(({ metadata }) => (metadata as { tool_use_id: string }).tool_use_id);
      const paid = noted("paid");
      expect(new Set(paid).size, "a call ran twice").toBe(paid.length);
      expect(recorded, "a tool ran that is not on record").toEqual(expect.arrayContaining(paid));
      if (when === "asked") return;
      expect(paid).toHaveLength(1);
      const results = rows.filter(({ sender }) => sender === "tool_result").map(({ content }) => content);
      expect(results.at(-1)).toContain("interrupted by a restart");
      expect((await answers(chat)).at(-1)).toBe("I may have paid.");
    },
    60_000,
  );

  it("is listed among the models", async () => {
    const { body } = await server.ask("GET", "/v1/models");
    expect(body.models).toContainEqual(
      expect.objectContaining({ name: "container/example", default: false, available: true, note: null }),
    );
  });

  it("hands it nothing that was not named, and no host message", async () => {
    await server.ask("POST", "/v1/chats/telltale/host", { content: "host-canary" });
    const { body } = await server.submit("telltale", "what do you see?");
    expect((await server.outcome("telltale", body.message_id)).outcome).toBe("answered");
    const [told = "{}"] = await answers("telltale");
    const { env, line } = JSON.parse(told) as { env: Record<string, string>; line: string };
    expect(Object.keys(env).filter((name) => !["PATH", "PWD"].includes(name))).toEqual(["NAMED"]);
    expect(told).not.toContain("sk-must-not-be-seen");
    expect(line).not.toContain("host-canary");
    expect(line).toContain("what do you see?");
  }, 30_000);

  async function answers(chat: string): Promise<string[]> {
    const rows = await server.messages(chat);
    return rows
      .filter((row) => row.sender === "bot" && !(row.metadata as { cut?: boolean }).cut)
      .map((row) => String(row.content));
  }
});

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
