import { describe, expect, it } from "vitest";
import { type Chat, chatWithDefaults, type MessageRow } from "../message/index.js";
import type { Inbound } from "../store/store.js";
import { parseCommand } from "./commandWords.js";
import { interrupts, placeNext, steering } from "./placement.js";
import { readPrefix } from "./prefix.js";
import { newRow } from "./rows.js";
import { type AnswerPiece, isAnswer, type Piece } from "./waiting.js";

const NOW = 1_000_000;
const chatOf = (settings: Partial<Chat> = {}): Chat =>
  chatWithDefaults({ jid: "home", ...settings }, "Longhand", []);

type Said = {
  at?: number;
  quiet?: number;
  tried?: number;
  sender?: string;
  mine?: boolean;
  deleted?: boolean;
};

/** Messages as they wait in a lane, in order. */
function lane(...said: (string | [string, Said])[]): Piece[] {
  return said.map((one, index): Piece => {
    const [content, { at = NOW, quiet = 0, tried, sender = "slack:U1", mine = false, deleted = false }] =
      typeof one === "string" ? [one, {}] : one;
    const id = content;
    const row = newRow({
      id,
      chat_jid: "home",
      sender,
      sender_name: sender,
      content,
      timestamp: new Date(at).toISOString(),
      message_type: "user",
      is_from_me: mine,
      metadata: {},
    });
    const message: MessageRow = {
      ...row,
      seq: index + 1,
      attachments: [],
      revision: 0,
      edited_at: null,
      deleted_at: deleted ? "2026-01-01T00:00:00.000Z" : null,
    };
    const command = parseCommand(content);
    const inbound: Inbound = {
      chat_jid: "home",
      message_id: id,
      admission: command ? "command" : "run",
      reason: "always",
      outcome: "pending",
      outcome_reason: "",
      turn_id: null,
      received_at: at,
    };
    const run_at = tried ?? (quiet === 0 ? 0 : at + quiet);
    const attempts = tried === undefined ? 0 : 1;
    const work = { id, kind: "turn", lane: "l", chat_jid: "home", ref: id, run_at, attempts } as const;
    if (command) return { work, asked: { type: "command", message, inbound, command } };
    return { work, asked: { type: "answer", message, inbound, prefix: readPrefix(content) } };
  });
}

const BURSTS = { quiet_ms: 400 };

/** What happens next, in short: the kind and the messages it is about. */
function next(pieces: Piece[], settings: Partial<Chat> = {}, now = NOW): string {
  const next = placeNext(pieces, chatOf(settings), { steady: now, now });
  if (next === null) return "nothing";
  const about = next.type === "command" || next.type === "tree" ? [next.piece] : next.pieces;
  const words = about.map(({ work }) => work.id).join(" + ");
  return next.type === "wait" ? `wait ${next.until - now} for ${words}` : `${next.type} ${words}`;
}

describe("what comes next when nothing runs", () => {
  it("is nothing when nothing waits, or nothing is due", () => {
    expect(next([])).toBe("nothing");
    expect(next(lane(["a", { quiet: 5 }]))).toBe("nothing");
  });

  it("is the first message alone where messages steer or queue", () => {
    for (const while_busy of ["steer", "queue"] as const) {
      expect(next(lane("a", "b"), { while_busy })).toBe("turn a");
    }
  });

  it("is all that waits where messages are collected, or may cut a turn short", () => {
    for (const while_busy of ["collect", "interrupt"] as const) {
      expect(next(lane("a", "b", "c"), { while_busy })).toBe("turn a + b + c");
    }
  });

  it("collects no todo, and nothing behind a command that changes the branch", () => {
    const collect = { while_busy: "collect" } as const;
    expect(next(lane("a", "todo b", "c"), collect)).toBe("turn a + c");
    expect(next(lane("todo b", "c"), collect)).toBe("turn todo b");
    expect(next(lane("a", "reset context", "c"), collect)).toBe("turn a");
    expect(next(lane("a", "todos", "c"), collect)).toBe("turn a + c");
  });

  it("is a command when a command is first", () => {
    expect(next(lane("usage", "a"))).toBe("command usage");
    expect(next(lane("a", "usage"))).toBe("turn a");
  });

  it("waits for the end of a burst, counted from its newest message", () => {
    const burst = lane(["a", { quiet: 400 }], ["b", { at: NOW + 300, quiet: 400 }]);
    expect(next(burst, BURSTS, NOW + 100)).toBe("nothing");
    expect(next(burst, BURSTS, NOW + 400)).toBe("wait 300 for a + b");
    expect(next(burst, BURSTS, NOW + 700)).toBe("turn a + b");
  });

  it("does not put into a burst what came after its quiet was over, however late anybody looks", () => {
    const two = lane(["a", { quiet: 400 }], ["b", { at: NOW + 401, quiet: 400 }]);
    expect(next(two, BURSTS, NOW + 100_000)).toBe("turn a");
  });

  it("does not wait for ever for a burst that never ends", () => {
    const endless = Array.from({ length: 100 }, (_, count): [string, Said] => [
      `m${count}`,
      { at: NOW + count * 300, quiet: 400 },
    ]);
    const heardBy = (ms: number) => lane(...endless.filter(([, { at = 0 }]) => at <= NOW + ms));
    expect(next(heardBy(9_900), BURSTS, NOW + 9_900)).toMatch(/^wait 100 /);
    expect(next(heardBy(10_000), BURSTS, NOW + 10_000)).toMatch(/^turn m0 \+ m1 /);
  });

  it("lets a burst end before somebody starts afresh, and answers a question about the host at once", () => {
    const said = (command: string) => lane(["a", { quiet: 400 }], command);
    expect(next(said("reset context"), BURSTS)).toBe("wait 400 for reset context");
    expect(next(said("usage"), BURSTS)).toBe("command usage");
    expect(next(said("stop"), BURSTS)).toBe("command stop");
  });

  it("is what is tried again, in its place: nobody overtakes it, and nobody is answered with it for that", () => {
    const said = lane(["a", { tried: NOW + 1000 }], ["b", { at: NOW + 10 }], ["c", { at: NOW + 20 }]);
    expect(next(said, {}, NOW + 10)).toBe("wait 990 for b");
    expect(next(said, {}, NOW + 1000)).toBe("turn a");
    expect(next(lane(["a", { tried: NOW + 1000 }], "usage"), {}, NOW)).toBe("command usage");
  });

  it("is no answer to what has waited too long", () => {
    const late = { expire_after_s: 60 };
    expect(next(lane("a", ["b", { at: NOW + 1 }]), late, NOW + 60_000)).toBe("turn a");
    expect(next(lane("a", ["b", { at: NOW + 1 }]), late, NOW + 60_001)).toBe("expire a");
  });
});

describe("while a turn runs", () => {
  const joins = (pieces: Piece[], settings: Partial<Chat> = {}) =>
    steering(pieces, chatOf(settings)).map(({ work }) => work.id);

  it("a btw joins whatever the chat says, a todo never; the rest where the chat steers", () => {
    const said = lane("btw a", "todo b", "c", "BTW d", "btwe");
    expect(joins(said)).toEqual(["btw a", "c", "BTW d", "btwe"]);
    for (const while_busy of ["queue", "collect", "interrupt"] as const) {
      expect(joins(said, { while_busy })).toEqual(["btw a", "BTW d"]);
    }
  });

  it("nothing joins from behind a command that changes the branch", () => {
    expect(joins(lane("a", "usage", "b", "reset context", "btw c"))).toEqual(["a", "b"]);
  });

  it("nobody joins who may not speak any more, and nothing that was deleted", () => {
    const said = lane("a", ["b", { sender: "slack:U2" }], ["c", { deleted: true }]);
    expect(joins(said, { allow: ["slack:U1"] })).toEqual(["a"]);
    expect(joins(said, { read: ["slack:U2"] })).toEqual(["b"]);
  });

  const running = { startedBy: new Set(["slack:U1", "whatsapp:49"]), interruptions: 0 };
  const cuts = (one: string | [string, Said], settings: Partial<Chat>, interruptions = 0) => {
    const [piece] = lane(one).filter(isAnswer) as [AnswerPiece];
    return interrupts(piece, chatOf(settings), { ...running, interruptions });
  };

  it("is cut short only where the chat says so, by whoever started it or the account's owner", () => {
    const interrupt = { while_busy: "interrupt" } as const;
    expect(cuts("a", interrupt)).toBe(true);
    expect(cuts(["a", { sender: "whatsapp:49" }], interrupt)).toBe(true);
    expect(cuts(["a", { sender: "slack:U2" }], interrupt)).toBe(false);
    expect(cuts(["a", { sender: "slack:U2", mine: true }], interrupt)).toBe(true);
    for (const while_busy of ["steer", "queue", "collect"] as const) {
      expect(cuts("a", { while_busy })).toBe(false);
    }
  });

  it("is not cut short by a btw or a todo, nor after two in a row", () => {
    const interrupt = { while_busy: "interrupt" } as const;
    expect(cuts("btw a", interrupt)).toBe(false);
    expect(cuts("todo a", interrupt)).toBe(false);
    expect(cuts("a", interrupt, 1)).toBe(true);
    expect(cuts("a", interrupt, 2)).toBe(false);
  });
});
