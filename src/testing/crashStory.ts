import { setTimeout } from "node:timers/promises";
import { defineTool, type Tool } from "../agent/index.js";
import { type Life, silence } from "./mortality.js";

/** What a story needs of a gateway and of the store below it. */
type Teller = {
  gateway: {
    registerChat(body: unknown): Promise<unknown>;
    submitChat(jid: string, body: unknown): Promise<{ status: string; answer?: { message_id: string } }>;
  };
  /** The store itself, whose reads are no steps of the life: looking is not part of the story. */
  read: {
    inbound(jid: string, id: string): Promise<{ outcome: string } | null>;
    lastCall(jid: string, thread: string): Promise<string | null>;
    partial(callId: string): Promise<unknown[]>;
    call(id: string): Promise<{ status: string } | null>;
    deliveries(query: {
      chat_jid: string | null;
      message_id: null;
      state: null;
      after: null;
      limit: number;
    }): Promise<{ state: string }[]>;
  };
  life: Life;
  note: Note;
};

/** Something that happened outside the store, written down so that it outlives the process. */
export type Noted =
  | { what: "accepted"; key: string; id: string }
  | { what: "ran"; name: string; call: string }
  | { what: "sent"; key: string; message: string; address: string }
  | { what: "partial"; call: string; text: string }
  | { what: "done"; call: string; index: number };
export type Note = (noted: Noted) => void;

export const CHAT = "team";
export const STORIES = ["steer", "late", "interrupt"] as const;
export type StoryName = (typeof STORIES)[number];

/** Which outcomes each message of a story may have. */
export const OUTCOMES: Readonly<Record<StoryName, Readonly<Record<string, readonly string[]>>>> = {
  steer: {
    remark: ["ambient"],
    ask: ["answered"],
    btw: ["steered", "answered"],
    todo: ["answered"],
    reset: ["command"],
    shell: ["command"],
    after: ["answered"],
  },
  late: {
    slow: ["answered"],
    more: ["steered", "answered"],
    long: ["answered"],
    shorter: ["steered", "answered"],
  },
  interrupt: {
    slow: ["superseded", "answered", "collected"],
    newer: ["answered"],
    again: ["stopped", "answered"],
    stop: ["command"],
    last: ["answered"],
  },
};

/**
 * Tells a story from its beginning, as a platform does that sends everything again after we went down: what was heard
 * before is not heard twice.
 */
export async function tell(story: StoryName, teller: Teller): Promise<void> {
  const while_busy = story === "interrupt" ? "interrupt" : "steer";
  await teller.gateway.registerChat({ jid: CHAT, while_busy, shell_allow: ["slack:U1"], bindings: BINDINGS });
  await TELLERS[story](teller);
  await delivered(teller);
}

const TELLERS: Readonly<Record<StoryName, (teller: Teller) => Promise<void>>> = {
  steer: tellSteer,
  late: tellLate,
  interrupt: tellInterrupt,
};

const BINDINGS = [{ channel: "slack", address: "slack:C1" }];

async function tellSteer(teller: Teller): Promise<void> {
  await say(teller, "remark", "the train leaves at nine", "slack:U2");
  await settled(teller, await say(teller, "ask", "@Longhand plan the trip"));
  for (const id of await sayMeanwhile(teller)) await settled(teller, id);
  await settled(teller, await say(teller, "reset", "reset context"));
  await settled(teller, await say(teller, "shell", "!make tea"));
  await settled(teller, await say(teller, "after", "@Longhand is there tea"));
}

/** Said while the tools of the story's first turn run. */
async function sayMeanwhile(teller: Pick<Teller, "gateway" | "note">): Promise<string[]> {
  return [
    await say(teller, "btw", "@Longhand btw take an umbrella"),
    await say(teller, "todo", "@Longhand todo feed the cat"),
  ];
}

/** People add something while the last words of an answer are on their way: the turn goes on behind it. */
async function tellLate(teller: Teller): Promise<void> {
  const slow = await say(teller, "slow", "@Longhand think slowly");
  await speaking(teller, slow);
  const more = await say(teller, "more", "@Longhand and the weather");
  for (const id of [slow, more]) await settled(teller, id);
  const long = await say(teller, "long", "@Longhand talk slowly at length");
  await speaking(teller, long);
  const shorter = await say(teller, "shorter", "@Longhand btw be brief");
  for (const id of [long, shorter]) await settled(teller, id);
}

async function tellInterrupt(teller: Teller): Promise<void> {
  const slow = await say(teller, "slow", "@Longhand think slowly");
  await speaking(teller, slow);
  const newer = await say(teller, "newer", "@Longhand hurry up");
  for (const id of [slow, newer]) await settled(teller, id);
  const again = await say(teller, "again", "@Longhand think slowly again");
  await speaking(teller, again);
  const stop = await say(teller, "stop", "stop");
  for (const id of [again, stop]) await settled(teller, id);
  await settled(teller, await say(teller, "last", "@Longhand good night"));
}

async function say(
  { gateway, note }: Pick<Teller, "gateway" | "note">,
  key: string,
  content: string,
  sender = "slack:U1",
): Promise<string> {
  const result = await gateway.submitChat(CHAT, {
    content,
    msg_metadata: {
      source: "slack",
      sender_id: sender,
      sender_display_name: sender === "slack:U1" ? "Olivia" : "Ash",
      sender_type: "human",
      external_message_id: key,
    },
  });
  const id = result.answer?.message_id;
  if (!id) throw new Error(`"${content}" was not stored: ${JSON.stringify(result)}`);
  note({ what: "accepted", key, id });
  return id;
}

const PATIENCE_MS = 20_000;

async function until(life: Life, what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; !(await isSo()); waited += 4) {
    if (life.isOver) return silence();
    if (waited > PATIENCE_MS) throw new Error(`it never came to this: ${what}`);
    await setTimeout(4);
  }
}

async function isSettled({ read }: Teller, id: string): Promise<boolean> {
  const inbound = await read.inbound(CHAT, id);
  return inbound !== null && inbound.outcome !== "pending";
}

function settled(teller: Teller, id: string): Promise<void> {
  return until(teller.life, `message ${id} has an outcome`, () => isSettled(teller, id));
}

/** Until some of the answer is kept, or there is an answer already. */
function speaking(teller: Teller, id: string): Promise<void> {
  const { read } = teller;
  return until(teller.life, `an answer to ${id} streams`, async () => {
    const call = await read.lastCall(CHAT, "");
    if (call && (await read.call(call))?.status === "running" && (await read.partial(call)).length > 0)
      return true;
    return isSettled(teller, id);
  });
}

function delivered({ life, read }: Teller): Promise<void> {
  const all = { chat_jid: null, message_id: null, state: null, after: null, limit: 500 } as const;
  return until(life, "everything is delivered", async () =>
    (await read.deliveries(all)).every(({ state }) => state === "sent"),
  );
}

/** `look` may run again, `book` may not. While `look` runs, people go on talking. */
export function storyTools(life: Life, note: Note, gateway: () => Teller["gateway"]): Tool[] {
  const parameters = { type: "object", properties: {} };
  return [
    defineTool({
      name: "look",
      description: "Looks.",
      repeatable: true,
      parameters,
      run: (_args, { call_id }) =>
        life.step("tool look", async () => {
          note({ what: "ran", name: "look", call: call_id });
          await sayMeanwhile({ gateway: gateway(), note });
          return "There is a train.";
        }),
    }),
    defineTool({
      name: "book",
      description: "Books.",
      parameters,
      run: (_args, { call_id }) =>
        life.step("tool book", async () => {
          note({ what: "ran", name: "book", call: call_id });
          return "Booked.";
        }),
    }),
  ];
}

/** A shell whose every command is noted, as are the tools. */
export function storyShell(life: Life, note: Note) {
  return (command: string) =>
    life.step("shell", async () => {
      note({ what: "ran", name: "shell", call: command });
      return { ok: true, output: "tea", exit_code: 0, note: "" } as const;
    });
}

/** A platform that takes a key: what comes twice under one key, it shows once. */
export function storyChannel(life: Life, note: Note) {
  return {
    name: "slack",
    takesKey: true as const,
    start: async () => {},
    stop: async () => {},
    send: (address: string, message: { message_id: string }, { key }: { key: string }) =>
      life.step("send", async () => {
        note({ what: "sent", key, message: message.message_id, address });
        return { ok: true, externalId: `platform-${key}` } as const;
      }),
  };
}

/** Writes down what a store was given of an answer that still streams, and of tools that are done. */
export function noteWrites(note: Note) {
  return (method: string, [batch]: readonly unknown[]): void => {
    if (method !== "commit" || !hasFacts(batch)) return;
    for (const { type, call_id: call, parts = [], index = 0 } of batch.facts) {
      const text = parts.map(({ content }) => content).join("");
      if (type === "call_partial") note({ what: "partial", call, text });
      if (type === "tool_done") note({ what: "done", call, index });
    }
  };
}

type NotedFact = { type: string; call_id: string; parts?: { content: string }[]; index?: number };

function hasFacts(batch: unknown): batch is { facts: NotedFact[] } {
  return typeof batch === "object" && batch !== null && "facts" in batch && Array.isArray(batch.facts);
}
