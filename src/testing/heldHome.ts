import { afterEach, beforeEach, expect } from "vitest";
import { model } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import { type HeldModel, startHeldModel } from "./heldModel.js";
import { Talk } from "./talk.js";
import { createGateway, type Gateway, type GatewayOptions } from "../gateway/gateway.js";

/** The model of the test that runs now. */
export let held: HeldModel;
/** What is stopped when the test has ended. */
export const gateways: Gateway[] = [];

/** Each test has a model that answers when the test says so, and that refuses what its API would refuse. */
export function useHeldModel(): void {
  beforeEach(async () => {
    held = await startHeldModel();
  });
  afterEach(async () => {
    await Promise.all(gateways.splice(0).map((gateway) => gateway.stop(0)));
    await held.close();
    expect(held.broken, "the model's API refuses such requests").toEqual([]);
  });
}

/** Ask something and have it answered. */
export async function ask(talk: Talk, words: string, answer = "Yes."): Promise<string> {
  const id = await talk.say(words);
  (await held.next()).say(answer);
  expect(await talk.outcome(id)).toBe("answered");
  return id;
}

/** A gateway that asks the held model, and people talking in its first chat. */
export async function openHome(
  settings: Record<string, unknown> = {},
  options: Partial<GatewayOptions> = {},
) {
  const store = options.store ?? openMemory();
  const gateway = createGateway({
    store,
    resolveModel: (name) => ({
      ok: true,
      model: model({ api: "openai-chat", id: name, baseUrl: held.baseUrl }),
    }),
    defaultModel: "main",
    limits: { leaseMs: 2000 },
    ...options,
  });
  gateways.push(gateway);
  await gateway.start();
  await gateway.changeChat("home", settings);
  return { gateway, store, home: new Talk(gateway, "home") };
}

/** Persistent context for the first chat. */
export async function storeSystemRow(gateway: Gateway, content: string): Promise<void> {
  await gateway.storeMessageDirect({
    id: "standing-1",
    chat_jid: "home",
    sender: "system",
    sender_name: "system",
    content,
    timestamp: new Date().toISOString(),
    message_type: "system",
  });
}
