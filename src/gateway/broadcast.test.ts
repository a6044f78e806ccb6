import { describe, expect, it } from "vitest";
import { type Chat, chatWithDefaults } from "../message/index.js";
import { deliveriesOf, type Origin, platformThread } from "./broadcast.js";
import { systemClock } from "./clock.js";
import { newRow } from "./rows.js";

const addresses = ["slack:C1", "slack:C2", "discord:D1"];
const chat: Chat = {
  ...chatWithDefaults({ jid: "team" }, "Longhand", []),
  bindings: addresses.map((address) => ({
    channel: address.slice(0, address.indexOf(":")),
    address,
    mode: "both",
    trace: "short",
    threads: "shared",
  })),
};

function threadsOf(metadata: Record<string, unknown>, origin: Origin | null = null) {
  const answer = newRow({
    id: "m1",
    chat_jid: "team",
    sender: "bot",
    sender_name: "Longhand",
    content: "here",
    timestamp: "2026-11-15T12:00:00.000Z",
    message_type: "user",
    metadata: {},
  });
  const facts = deliveriesOf(answer, chat, origin, platformThread({ metadata }), systemClock);
  return Object.fromEntries(
    facts.flatMap((fact) =>
      fact.type === "delivery" ? [[fact.delivery.address, [fact.delivery.thread_id, fact.work.lane]]] : [],
    ),
  );
}

describe("an answer to something said in a thread", () => {
  it("goes into the thread where it was asked, and into no thread anywhere else", () => {
    expect(threadsOf({ source: "slack", channel_external_id: "C1", thread_id: "17.1" })).toEqual({
      "slack:C1": ["17.1", "delivery:slack:C1#17.1"],
      "slack:C2": [null, "delivery:slack:C2#"],
      "discord:D1": [null, "delivery:discord:D1#"],
    });
  });

  it("stays on its channel when the place is not known", () => {
    const threads = threadsOf({ source: "slack", thread_id: "17.1" });
    expect(Object.values(threads).map(([thread]) => thread)).toEqual(["17.1", "17.1", null]);
  });

  it("has no thread when there was none", () => {
    const threads = threadsOf({ source: "slack", channel_external_id: "C1" });
    expect(Object.values(threads).map(([thread]) => thread)).toEqual([null, null, null]);
  });

  it("is told apart from where not to send it back", () => {
    const origin = { source: "slack", address: "slack:C2" };
    const threads = threadsOf({ source: "slack", channel_external_id: "C1", thread_id: "17.1" }, origin);
    expect(Object.keys(threads)).toEqual(["slack:C1", "discord:D1"]);
    expect(threads["slack:C1"]?.[0]).toBe("17.1");
  });
});
