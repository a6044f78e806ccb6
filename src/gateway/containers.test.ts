import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Container } from "../agent/index.js";
import { model } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import { type HeldModel, startHeldModel } from "../testing/heldModel.js";
import { heldTool } from "../testing/heldTool.js";
import { Talk, until } from "../testing/talk.js";
import { createGateway, type Gateway, type GatewayOptions } from "./gateway.js";

let held: HeldModel;
let folder: string;
const gateways: Gateway[] = [];
beforeEach(async () => {
  held = await startHeldModel();
  folder = mkdtempSync(join(tmpdir(), "longhand-outside-"));
});
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.stop(0)));
  await held.close();
  rmSync(folder, { recursive: true, force: true });
  expect(held.broken, "the model's API refuses such requests").toEqual([]);
});

const PRELUDE = `
import { appendFileSync, existsSync } from "node:fs";
import { createInterface } from "node:readline";
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => (await lines.next()).value;
const send = (...events) => { for (const event of events) process.stdout.write(JSON.stringify(event) + "\\n"); };
const input = await read();
`;

function program(name: string, code: string): Container {
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, PRELUDE + code);
  return { name, command: [process.execPath, file], isolation: "none" };
}

async function open(settings: Record<string, unknown>, options: Partial<GatewayOptions> = {}) {
  const gateway = createGateway({
    store: openMemory(),
    resolveModel: (name) => ({
      ok: true,
      model: model({ api: "openai-chat", id: name, baseUrl: held.baseUrl }),
    }),
    defaultModel: "main",
    ...options,
  });
  gateways.push(gateway);
  await gateway.start();
  expect(await gateway.changeChat("home", settings)).toMatchObject({ status: "ok" });
  return { gateway, home: new Talk(gateway, "home") };
}

describe("a chat that a container answers", () => {
  it("is not interrupted while a tool of it runs, even one with a name of ours", async () => {
    const [ran, go] = [join(folder, "ran"), join(folder, "go")];
    const digger = program(
      "digger",
      `if (input.includes("stop digging")) send({ type: "result", text: "I have stopped." });
       else {
         send({ type: "tool_use", id: "d", name: "dig" }, { type: "run_tools" });
         await read();
         appendFileSync(${JSON.stringify(ran)}, "dug\\n");
         while (!existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 10));
         send({ type: "tool_result", id: "d", content: "found a coin" });
         await read();
       }`,
    );
    const { home } = await open(
      { model: "container/digger", while_busy: "interrupt" },
      { containers: [digger], tools: [heldTool({ repeatable: true }).tool] },
    );
    const asked = await home.say("dig");
    await until(() => existsSync(ran));
    const newer = await home.say("stop digging, please");
    expect(await home.command("todos")).toBe("Nothing is on the list.");
    expect(await home.soFar(asked)).toBe("pending");
    writeFileSync(go, "");
    expect(await home.outcome(asked)).toBe("superseded");
    expect(await home.outcome(newer)).toBe("answered");
    expect(await home.answers()).toEqual(["I have stopped."]);
    expect((await home.rows("tool_result")).map(({ content }) => content)).toEqual(["found a coin"]);
    expect(readFileSync(ran, "utf8")).toBe("dug\n");
  });

  it("is answered by its fallback when the container fails", async () => {
    const broken = program("broken", `send({ type: "text", delta: "I was ab" }); process.exit(1);`);
    const { home } = await open(
      { model: "container/broken", fallback_model: "spare" },
      { containers: [broken] },
    );
    const asked = await home.say("hello?");
    const call = await held.next();
    expect([call.model, call.heard]).toEqual(["spare", ["[Olivia]: hello?"]]);
    call.say("In its place.");
    expect(await home.outcome(asked)).toBe("answered");
    expect((await home.answers()).at(-1)).toBe("In its place.");
    expect(await home.news()).toEqual([]);
  });

  it("can be that of no fallback", async () => {
    const { gateway } = await open({}, { containers: [program("x", "")] });
    expect(await gateway.changeChat("home", { fallback_model: "container/x" })).toMatchObject({
      status: "invalid",
      errors: [{ path: "fallback_model", reason: expect.stringContaining("expected a model") }],
    });
    expect(await gateway.changeChat("home", { model: "container/x" })).toMatchObject({ status: "ok" });
  });
});

describe("a chat whose model cannot be used any more", () => {
  it("is answered by its fallback, and a preview shows what that one would be sent", async () => {
    let isThere = true;
    const { gateway, home } = await open(
      { model: "gone", fallback_model: "spare" },
      {
        resolveModel: (id) =>
          id === "gone" && !isThere
            ? { ok: false, why: "there is no key" }
            : { ok: true, model: model({ api: "openai-chat", id, baseUrl: held.baseUrl }) },
      },
    );
    isThere = false;
    expect(await gateway.context("home", undefined)).toMatchObject({
      ok: true,
      preview: { body: expect.stringContaining('"spare"') },
    });
    const asked = await home.say("hello?");
    const call = await held.next();
    expect(call.model).toBe("spare");
    call.say("Here.");
    expect(await home.outcome(asked)).toBe("answered");
  });
});

describe("a turn that goes on after a crash", () => {
  it("has only the steps that are left", async () => {
    const store = openMemory();
    const dig = heldTool({ run: async () => "a coin", repeatable: true });
    const options = { store, holder: "me", tools: [dig.tool], limits: { steps: 2 } };
    const first = await open({}, options);
    const asked = await first.home.say("dig");
    (await held.next()).use("dig");
    await held.next();
    await first.gateway.stop(0);
    const { home } = await open({}, options);
    (await held.next()).use("dig");
    expect(await home.ended(asked)).toMatchObject({ outcome: "failed", reason: "it took more than 2 steps" });
    expect(held.calls).toHaveLength(3);
  });
});
