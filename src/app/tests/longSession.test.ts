import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CANARY, ENVIRONMENT, LongSession } from "../../testing/longSession.js";
import type { Call } from "../../message/index.js";
import { createClient } from "../client/index.js";

/** So many calls are made; the long form takes a few minutes. LONGHAND_SEED runs a session again. */
const CALLS = process.env.LONGHAND_LONG ? 1_000 : 32;
const SEED = Number(process.env.LONGHAND_SEED ?? (process.env.LONGHAND_LONG ? Date.now() % 1_000_000 : 11));

/** A receipt with the bytes it gives back; null when they were erased. */
type Receipt = Call & { bytes: Buffer | null };

describe(`a long session of everything (seed ${SEED})`, () => {
  let session: LongSession;
  let receipts: Receipt[] = [];
  let erased: string[] = [];

  beforeAll(async () => {
    session = await LongSession.start(SEED);
    await session.everything();
    while (session.received.length < CALLS) await session.step();
    await session.server.down("SIGKILL");
    await session.server.up();
    receipts = await allReceipts(session);
    console.log(`seed ${SEED}: ${receipts.length} calls, ${JSON.stringify(session.counts)}`);
  }, 3_600_000);
  afterAll(() => session.end());

  it("every receipt gives back the very bytes a vendor received, and every request has its receipt", () => {
    const received = new Map<string, number>();
    for (const body of session.received) received.set(sha256(body), (received.get(sha256(body)) ?? 0) + 1);
    let equal = 0;
    // What was answered first: a call that a kill kept from leaving was made again, with the same bytes.
    const answeredFirst = receipts.toSorted((a, b) => Number(b.status === "ok") - Number(a.status === "ok"));
    for (const { id, bytes, status, request_sha256, request_size } of answeredFirst) {
      if (!bytes) throw new Error(`call ${id} gives no bytes`);
      expect(sha256(bytes), `call ${id}`).toBe(request_sha256);
      expect(bytes.length).toBe(request_size);
      const left = received.get(request_sha256) ?? 0;
      // A receipt is written before the first byte leaves: who is killed or stopped between the two has sent none.
      if (left === 0) expect(["cut", "aborted", "error"], `call ${id} was not received`).toContain(status);
      else received.set(request_sha256, left - 1);
      if (left > 0) equal++;
    }
    expect([...received.values()].filter((left) => left > 0)).toEqual([]);
    expect(equal).toBe(session.received.length);
    console.log(`${equal} of ${session.received.length} requests equal their receipts byte for byte`);
  });

  it("nothing is refused by any vendor, but for what it was told to refuse", () => {
    const refused = receipts.filter(({ error_kind }) => error_kind !== null && !TROUBLE.has(error_kind));
    expect(refused.map(({ api, error_kind, error }) => `${api}: ${error_kind}: ${error}`)).toEqual([]);
    const apis = new Set(receipts.filter(({ status }) => status === "ok").map(({ api }) => api));
    if (CALLS >= 1_000) expect(apis.size).toBe(5);
  });

  it("until a break every request extends the one before it, and every break has a reason that is true", () => {
    const turns = receipts.filter(({ purpose }) => purpose === "turn");
    const reasons: Record<string, number> = {};
    turns.forEach((call, index) => {
      const before = turns[index - 1];
      const isExtended = !before || extendsBlocks(before, call);
      expect(call.breaks.length === 0, `call ${call.id}: ${JSON.stringify(call.breaks)}`).toBe(isExtended);
      if (!before) return;
      const causes = causesBetween(session, before, call, receipts);
      for (const { reason } of call.breaks) {
        const known = Object.keys(CAUSES).find((words) => reason.includes(words)) ?? reason;
        reasons[known] = (reasons[known] ?? 0) + 1;
        const wanted = CAUSES[known] ?? [];
        expect(
          wanted.some((cause) => causes.has(cause)),
          `call ${call.id} says "${reason}"; what happened: ${[...causes]}`,
        ).toBe(true);
      }
    });
    console.log(`${turns.length} calls of turns; breaks: ${JSON.stringify(reasons)}`);
  });

  it("what is for people, deleted, or nobody's business is in no request", () => {
    const everything = Buffer.concat(session.received).toString("utf8");
    for (const canary of [CANARY.host, CANARY.custom, ENVIRONMENT, session.server.token]) {
      expect(everything.includes(canary), canary).toBe(false);
    }
    expect(stillSaid(session)).toEqual([]);
  });

  it("a person who is erased is in no later request, and in no receipt; the others' receipts are whole", async () => {
    erased = await session.erase("slack:U2");
    expect(erased.length).toBeGreaterThan(0);
    for (let step = 0; step < 4; step++) await session.step("say");
    expect(stillSaid(session)).toEqual([]);
    const after = await allReceipts(session);
    let whole = 0;
    for (const { bytes, request_sha256 } of after) {
      if (!bytes) continue;
      whole++;
      expect(sha256(bytes)).toBe(request_sha256);
      const found = erased.filter((word) => bytes.includes(word));
      expect(found).toEqual([]);
    }
    await session.server.down("SIGTERM");
    const { data, printed } = session.server;
    const files = readdirSync(data, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    const kept = [
      Buffer.from(printed),
      ...files.map((file) => readFileSync(join(file.parentPath, file.name))),
    ];
    expect(erased.filter((word) => kept.some((bytes) => bytes.includes(word)))).toEqual([]);
    console.log(`${erased.length} sayings erased; ${whole} of ${after.length} receipts are still whole`);
  }, 120_000);
});

/** What the vendors are told to do, and what a kill looks like. */
const TROUBLE = new Set(["overloaded", "overflow", "cut", "rate_limited", "rate_limit", "network"]);

/** What may stand on a receipt as the reason of a break, and what must have happened then. */
const CAUSES: Readonly<Record<string, readonly string[]>> = {
  "the model changed": ["model"],
  "the system prompt changed": ["prompt", "model"],
  "a system message no longer opens the conversation": ["delete", "compaction", "fork", "model"],
  "a system message reads differently now": ["model"],
  "a system message opens the conversation now": ["compaction", "fork", "model"],
  "the conversation was compacted": ["compaction"],
  "the conversation was forked": ["fork"],
  "the conversation went on from before its compaction": ["fork"],
  "the conversation went on from an earlier place": ["fork"],
  // A deletion empties the summaries that may tell of what was deleted.
  "the summary is left out": ["delete"],
  "left out: erased": ["delete"],
  "left out: deleted": ["delete"],
  // A branch may begin in the middle of an answer.
  "left out: thinking alone": ["fork"],
  "an earlier message reads differently now": ["rewrite", "model", "picture"],
  "a block moved to another place": ["model"],
  "the tools changed": ["model"],
};

function causesBetween(
  { happenings }: LongSession,
  before: Receipt,
  call: Receipt,
  receipts: readonly Receipt[],
): Set<string> {
  const from = Date.parse(before.started_at);
  const to = Date.parse(call.started_at);
  const causes = new Set(happenings.filter(({ at }) => at >= from && at <= to).map(({ what }) => what));
  const between = receipts.filter(({ id }) => id > before.id && id < call.id);
  if (between.some(({ purpose }) => purpose === "compaction")) causes.add("compaction");
  return causes;
}

/** Without a look at what the receipt says of itself. Frames are the JSON between; the last one closes the body. */
function extendsBlocks(before: Receipt, call: Receipt): boolean {
  const fixed = ({ blocks }: Receipt) =>
    blocks.filter(({ kind }) => ["params", "tools", "system", "notice"].includes(kind)).map(({ id }) => id);
  const said = ({ blocks }: Receipt) =>
    blocks.filter(({ kind }) => ["summary", "thread_context", "message"].includes(kind)).map(({ id }) => id);
  const [older, newer] = [said(before), said(call)];
  return (
    JSON.stringify(fixed(before)) === JSON.stringify(fixed(call)) &&
    JSON.stringify(newer.slice(0, older.length)) === JSON.stringify(older)
  );
}

/** Words that somebody took back, in requests made after that. */
function stillSaid({ silenced, vendors }: LongSession): string[] {
  return silenced.flatMap(({ word, from }) =>
    vendors.flatMap(({ model, server }, index) =>
      server.requests.slice(from[index]).some(({ body }) => body.includes(word))
        ? [`${word} to ${model}`]
        : [],
    ),
  );
}

async function allReceipts({ server }: LongSession): Promise<Receipt[]> {
  const client = createClient({ baseUrl: server.baseUrl, token: server.token });
  const receipts: Receipt[] = [];
  for (let after: unknown = ""; after !== null; ) {
    const page = await server.ask("GET", `/v1/chats/home/calls?limit=500${after ? `&after=${after}` : ""}`);
    for (const { id } of page.body.calls as { id: string }[]) {
      const call = await client.call(id);
      const response = await fetch(`${server.baseUrl}/v1/calls/${id}/request`, {
        headers: { authorization: `Bearer ${server.token}` },
      });
      if (response.status !== 200 && response.status !== 410)
        throw new Error(`call ${id}: ${response.status}`);
      const bytes = response.status === 200 ? Buffer.from(await response.arrayBuffer()) : null;
      receipts.push({ ...call, bytes });
    }
    after = page.body.next;
  }
  return receipts;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
