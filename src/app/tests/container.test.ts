import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

describe("a chat that a container answers", () => {
  const folder = mkdtempSync(join(tmpdir(), "longhand-containers-"));
  let server: ServerProcess;
  let model: HeldModel;

  beforeAll(async () => {
    model = await startHeldModel();
    const { bubblewrap } = await findIsolation();
    if (!bubblewrap.works) console.warn(`SKIPPED: the sandbox of containers: ${bubblewrap.why}`);
    const isolation = bubblewrap.works ? "bubblewrap" : "none";
    writeFileSync(join(folder, "telltale.mjs"), TELLTALE);
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
      impatient: { ...example, idle_ms: 400 },
      telltale: {
        ...common,
        command: [process.execPath, join(folder, "telltale.mjs")],
        folder,
        pass_env: ["NAMED"],
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
    const { body } = await server.submit("impatient", "take your time");
    await model.next();
    const outcome = await server.outcome("impatient", body.message_id);
    expect(outcome.outcome).toBe("failed");
    const rows = await server.messages("impatient");
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
