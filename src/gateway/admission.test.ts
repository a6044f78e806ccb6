import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Chat,
  chatWithDefaults,
  type IngestMessageMetadata,
  NewChat,
  OUTCOMES,
} from "../message/index.js";
import { type AdmissionFacts, type Admitted, admit, QUIET_REASONS, RUN_REASONS } from "./admission.js";

type Given = {
  chat?: Partial<Omit<NewChat, "jid">>;
  from?: Partial<IngestMessageMetadata>;
  facts?: Partial<AdmissionFacts>;
};

const FACTS: AdmissionFacts = {
  way: "submit",
  run: false,
  attached: false,
  personId: null,
  repliesToUs: false,
  botsInARow: 0,
  calledBefore: false,
  overBudget: null,
};
const OLIVIA: IngestMessageMetadata = {
  source: "slack",
  sender_id: "slack:U1",
  sender_display_name: "Olivia",
  sender_type: "human",
};
const chatOf = (given: Given["chat"]): Chat =>
  chatWithDefaults(NewChat.parse({ jid: "team", ...given }), "Longhand", ["lh"]);
const said = (content: string, { chat, from, facts }: Given = {}): Admitted =>
  admit(content, { ...OLIVIA, ...from }, chatOf(chat), { ...FACTS, ...facts });
const told = (content: string, given: Given = {}): string => {
  const { admission, reason } = said(content, given);
  return `${admission}: ${reason}`;
};
const BOT = { sender_id: "slack:B1", sender_type: "bot" } as const;

describe("in a chat where the assistant is called by its name", () => {
  it("answers whoever begins with its name or an alias", () => {
    expect(told("@Longhand hi")).toBe("run: name");
    expect(told("  @lh, hi")).toBe("run: name");
    expect(told("@Longhand hi", { facts: { attached: true } })).toBe("run: name");
  });

  it("keeps what people say among themselves as context, and answers none of it", () => {
    expect(told("lunch?")).toBe("ambient: no trigger");
    expect(told("I asked @Longhand already")).toBe("ambient: no trigger");
    expect(told("@longhand-dev hi")).toBe("ambient: no trigger");
    expect(told("@lоnghand hi")).toBe("ambient: no trigger");
    expect(told("> @Longhand hi")).toBe("ambient: no trigger");
  });

  it("answers a real mention anywhere, and not the same characters typed by hand", () => {
    const content = "what says <@UBOT> to that";
    const entities = [{ offset: 10, length: 7, type: "mention", id: "longhand" }];
    expect(told(content, { from: { entities } })).toBe("run: mention");
    expect(told(content)).toBe("ambient: no trigger");
  });

  it("answers a reply to one of its messages", () => {
    expect(told("and tomorrow?", { facts: { repliesToUs: true } })).toBe("run: reply");
  });

  it("answers what is addressed to it, and stays quiet about what is for another assistant", () => {
    expect(told("hi", { from: { recipient_id: "bot:longhand" } })).toBe("run: recipient");
    expect(told("@Longhand hi", { from: { recipient_id: "bot:other" } })).toBe("ignored: other_recipient");
    expect(told("stop", { from: { recipient_id: "bot:other" } })).toBe("ignored: other_recipient");
  });
});

describe("in other chats", () => {
  it("answers every message where it always does", () => {
    expect(told("hi", { chat: { trigger: "always" } })).toBe("run: always");
  });

  it("goes on answering whoever called it a moment ago, where calls stick", () => {
    const chat = { trigger: "sticky" } as const;
    expect(told("@Longhand hi", { chat })).toBe("run: name");
    expect(told("and then?", { chat, facts: { calledBefore: true } })).toBe("run: sticky");
    expect(told("and then?", { chat })).toBe("ambient: no trigger");
    expect(told("and then?", { facts: { calledBefore: true } })).toBe("ambient: no trigger");
  });

  it("answers what matches the chat's pattern, and whoever calls it by name", () => {
    const chat = { trigger: { pattern: "(?i)^hey bot\\b" } };
    expect(told("Hey bot, hi", { chat })).toBe("run: pattern");
    expect(told("oh, hey bot", { chat })).toBe("ambient: no trigger");
    expect(told("@Longhand hi", { chat })).toBe("run: name");
  });
});

describe("who may speak", () => {
  it("lets everybody, unless told otherwise", () => {
    expect(told("@Longhand hi", { from: { sender_id: "discord:9" } })).toBe("run: name");
  });

  it("does not answer a sender who may not call it, but reads what they say to others", () => {
    const chat = { allow: ["slack:U2"] };
    expect(told("@Longhand hi", { chat })).toBe("ignored: sender_not_allowed");
    expect(told("lunch?", { chat })).toBe("ambient: no trigger");
  });

  it("takes nothing from a sender whose words may not be read, however they come", () => {
    const chat = { read: ["slack:U2"], trigger: "always" } as const;
    expect(told("hi", { chat: { ...chat, read: [...chat.read] } })).toBe("ignored: sender_not_allowed");
    for (const facts of [{ way: "passive" }, { way: "inject" }, { way: "inject", run: true }] as const) {
      expect(told("hi", { chat: { read: ["slack:U2"] }, facts })).toBe("ignored: sender_not_allowed");
    }
  });

  it("knows a person by any of their sender ids", () => {
    const chat = { trigger: "always", allow: ["person:olivia"], read: ["person:olivia"] } as const;
    const lists = { ...chat, allow: [...chat.allow], read: [...chat.read] };
    const from = { source: "whatsapp", sender_id: "whatsapp:45" };
    expect(told("hi", { chat: lists, from, facts: { personId: "olivia" } })).toBe("run: always");
    expect(told("hi", { chat: lists, from, facts: { personId: "max" } })).toBe("ignored: sender_not_allowed");
    expect(told("hi", { chat: lists, from })).toBe("ignored: sender_not_allowed");
  });

  it("lets nobody in who merely calls themselves a person", () => {
    const chat = { trigger: "always", allow: ["person:olivia"] } as const;
    const from = { sender_id: "person:olivia" };
    expect(told("hi", { chat: { ...chat, allow: [...chat.allow] }, from })).toBe(
      "ignored: sender_not_allowed",
    );
  });
});

describe("bots", () => {
  it("are not answered, whatever they say", () => {
    expect(told("@Longhand hi", { from: BOT })).toBe("ignored: bot");
    expect(told("stop", { from: BOT, chat: { trigger: "always" } })).toBe("ignored: bot");
  });

  it("are answered where the chat allows it, until they go on among themselves", () => {
    const chat = { allow_bots: true, loop_limit: 3 };
    expect(told("@Longhand hi", { from: BOT, chat, facts: { botsInARow: 2 } })).toBe("run: name");
    const first = said("@Longhand hi", { from: BOT, chat, facts: { botsInARow: 3 } });
    expect(first).toMatchObject({ admission: "ignored", reason: "loop_guard", isFirst: true });
    const next = said("@Longhand hi", { from: BOT, chat, facts: { botsInARow: 4 } });
    expect(next).toMatchObject({ reason: "loop_guard", isFirst: false });
    expect(told("@Longhand hi", { chat, facts: { botsInARow: 4 } })).toBe("run: name");
  });

  it("give no commands", () => {
    const chat = { allow_bots: true, trigger: "always", shell_allow: ["slack:B1"] } as const;
    const given = { from: BOT, chat: { ...chat, shell_allow: [...chat.shell_allow] } };
    expect(told("reset context", given)).toBe("run: always");
    expect(told("!rm -rf /", given)).toBe("run: always");
  });
});

describe("commands", () => {
  it("are taken with and without the trigger, from whoever may run the assistant", () => {
    expect(told("stop")).toBe("command: stop");
    expect(told("@Longhand, New Chat")).toBe("command: reset context");
    expect(told("model demo/demo")).toBe("command: model");
    expect(said("stop").outcome).toBe("pending");
    expect(told("stop", { chat: { allow: ["slack:U2"] } })).toBe("ambient: no trigger");
    expect(told("@Longhand stop", { chat: { allow: ["slack:U2"] } })).toBe("ignored: sender_not_allowed");
  });

  it("work when the money is spent: they cost none", () => {
    expect(told("usage", { facts: { overBudget: "all of it is spent" } })).toBe("command: usage");
  });

  it("run in a shell only for senders and people the operator named", () => {
    const chat = { trigger: "always", shell_allow: ["person:olivia", "slack:U7"] } as const;
    const shell = { ...chat, shell_allow: [...chat.shell_allow] };
    expect(told("!uptime", { chat: shell })).toBe("run: always");
    expect(told("!uptime", { chat: shell, facts: { personId: "olivia" } })).toBe("command: shell");
    expect(told("@lh !uptime", { chat: shell, from: { sender_id: "slack:U7" } })).toBe("command: shell");
    const banned = { ...shell, allow: ["slack:U1"] };
    expect(told("!uptime", { chat: banned, from: { sender_id: "slack:U7" } })).toBe(
      "ignored: sender_not_allowed",
    );
  });

  it("are not read into a message that brings a file, comes from a program, or was overheard", () => {
    expect(told("usage", { facts: { attached: true } })).toBe("ambient: no trigger");
    expect(told("stop", { facts: { way: "inject" } })).toBe("ambient: injected without run");
    expect(told("stop", { facts: { way: "inject", run: true } })).toBe("run: injected with run");
    expect(told("stop", { facts: { way: "passive" } })).toBe("passive: stored as overheard");
    expect(told("stop", { from: { passive: true } })).toBe("passive: stored as overheard");
  });
});

it("does not answer when the money is spent, and says which limit it was", () => {
  const facts = { overBudget: "this chat's budget of $5 a day is spent" };
  expect(said("@Longhand hi", { facts })).toMatchObject({
    admission: "ignored",
    reason: "over_budget",
    outcome: "over_budget",
    detail: facts.overBudget,
  });
  expect(told("lunch?", { facts })).toBe("ambient: no trigger");
  expect(told("hi", { facts: { ...facts, way: "inject", run: true } })).toBe("ignored: over_budget");
  expect(told("@Longhand hi", { facts, chat: { allow: [] } })).toBe("ignored: sender_not_allowed");
});

it("asks its questions in the order that is written down", () => {
  const everything: Given = {
    chat: { read: [], allow: [], loop_limit: 1 },
    from: { ...BOT, passive: true, recipient_id: "bot:other" },
    facts: { botsInARow: 9, overBudget: "spent" },
  };
  expect(told("stop", everything)).toBe("ignored: sender_not_allowed");
  const readable = { ...everything, chat: { ...everything.chat, read: "*" as const } };
  expect(told("stop", readable)).toBe("passive: stored as overheard");
  const spoken = { ...readable, from: { ...BOT, recipient_id: "bot:other" } };
  expect(told("stop", spoken)).toBe("ignored: bot");
  const allowed = { ...spoken, chat: { ...spoken.chat, allow_bots: true } };
  expect(told("stop", allowed)).toBe("ignored: loop_guard");
  const human = { ...allowed, from: { recipient_id: "bot:other" } };
  expect(told("stop", human)).toBe("ignored: other_recipient");
  const ours = { ...human, from: { recipient_id: "bot:longhand" } };
  expect(told("stop", ours)).toBe("ignored: sender_not_allowed");
  const free = { ...ours, chat: { ...ours.chat, allow: "*" as const } };
  expect(told("stop", free)).toBe("command: stop");
  expect(told("go on", free)).toBe("ignored: over_budget");
});

it("whatever comes in is told what it is, by a reason people can look up", () => {
  const reasons: ReadonlySet<string> = new Set<string>([
    ...RUN_REASONS,
    ...QUIET_REASONS,
    ...["reset context", "stop", "done", "todos", "context", "usage", "model", "fork", "shell"],
  ]);
  const list = fc.oneof(
    fc.constant("*" as const),
    fc.array(fc.constantFrom("slack:U1", "slack:B1", "person:olivia", "tui-user")),
  );
  const chats = fc.record({
    trigger: fc.constantFrom<Chat["trigger"]>(
      "always",
      "mention",
      "sticky",
      { pattern: "^hey" },
      { pattern: "(" },
    ),
    allow: list,
    read: list,
    allow_bots: fc.boolean(),
    loop_limit: fc.integer({ min: 1, max: 3 }),
    shell_allow: fc.array(fc.constantFrom("slack:U1", "person:olivia")),
  });
  const metadata = fc.record(
    {
      sender_id: fc.constantFrom("slack:U1", "slack:B1", "tui-user", "person:olivia"),
      sender_type: fc.constantFrom<"human" | "bot">("human", "bot"),
      passive: fc.boolean(),
      recipient_id: fc.constantFrom("bot:longhand", "bot:other", ""),
      entities: fc.array(
        fc.record({
          offset: fc.nat(20),
          length: fc.nat(20),
          type: fc.constant("mention"),
          id: fc.constant("longhand"),
        }),
      ),
    },
    { requiredKeys: ["sender_id", "sender_type"] },
  );
  const facts = fc.record({
    way: fc.constantFrom<AdmissionFacts["way"]>("submit", "inject", "passive"),
    run: fc.boolean(),
    attached: fc.boolean(),
    personId: fc.constantFrom("olivia", null),
    repliesToUs: fc.boolean(),
    botsInARow: fc.nat(5),
    calledBefore: fc.boolean(),
    overBudget: fc.constantFrom("spent", null),
  });
  const contents = fc.oneof(
    fc.string({ unit: "binary" }),
    fc
      .array(fc.constantFrom("@Longhand", " ", "stop", "!ls", "hey", "\n", "reset context", "\u200b"))
      .map((all) => all.join("")),
  );
  fc.assert(
    fc.property(contents, metadata, chats, facts, (content, from, settings, known) => {
      const chat = { ...chatOf({}), ...settings };
      const admitted = admit(content, { ...OLIVIA, ...from }, chat, known);
      expect(reasons).toContain(admitted.reason);
      expect(OUTCOMES).toContain(admitted.outcome);
      const waits = admitted.admission === "run" || admitted.admission === "command";
      expect(admitted.outcome === "pending").toBe(waits);
      if (waits && from.sender_id === "person:olivia" && known.personId === null)
        expect([settings.allow, settings.read]).toEqual(["*", "*"]);
    }),
    { numRuns: process.env.LONGHAND_LONG ? 20_000 : 1000 },
  );
});
