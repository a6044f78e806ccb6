import { InjectBody, IngestAnswer, SubmitBody, belongsTo } from "../../../message/index.js";
import { covers, type Gateway, type Identity, type IngestResult, webSender } from "../../../gateway/index.js";
import { type Answer, type Asked, ok, type Route, route, type Served } from "../route.js";
import { invalid, Problem } from "../problem.js";
import { requireScope, unauthorised } from "../auth.js";

const WAYS = [
  { word: "submit", summary: "Someone spoke in the chat", body: SubmitBody },
  { word: "inject", summary: "A program adds a message", body: InjectBody },
  { word: "passive", summary: "Overheard; keep it", body: SubmitBody },
] as const;
type Way = (typeof WAYS)[number]["word"];

/** The three ways in. Each answers only once the message is durable. */
export const ingestRoutes: Route[] = WAYS.map(({ word, summary, body }) =>
  route({
    method: "POST",
    path: `/v1/chats/:jid/${word}`,
    summary,
    scope: "source",
    body,
    bodySize: "message",
    answers: { status: 202, schema: IngestAnswer },
    handle: (served, asked) => takeIn(word, served, asked),
  }),
);

async function takeIn(
  way: Way,
  { gateway }: Served,
  { params, body: given, headers, identity }: Asked<unknown>,
): Promise<Answer> {
  if (way === "inject" && identity.person_id !== null)
    throw new Problem(403, "A personal link speaks as a person: use submit. Programs inject.");
  const body = identity.person_id === null ? given : await asThemselves(gateway, identity.person_id, given);
  const source = sourceOf(body);
  requireScope(identity, "ingest", source);
  requireOwnSender(identity, body, source);
  if (way === "inject" && isSystem(body)) requireScope(identity, "operate");
  const options = { idempotencyKey: idempotencyKey(headers["idempotency-key"]) };
  const jid = params.jid ?? "";
  switch (way) {
    case "submit":
      return answer(await gateway.submitChat(jid, body, options));
    case "inject":
      return answer(await gateway.injectMessage(jid, body, options));
    case "passive":
      return answer(await gateway.storePassiveMessage(jid, body, options));
  }
}

function answer(result: IngestResult): Answer {
  switch (result.status) {
    case "stored":
      return ok(result.answer, 202);
    case "not_registered":
      throw new Problem(
        404,
        `The chat "${result.jid}" is not registered. Register it with \`longhand register ${result.jid}\` or POST /v1/chats {"jid": ${JSON.stringify(result.jid)}}.`,
      );
    case "invalid":
      throw invalid(result.errors);
    case "too_large":
      throw new Problem(413, result.why, [{ path: "content", reason: result.why }]);
    case "conflict":
      throw new Problem(409, result.why);
  }
}

/** A channel's credential speaks for that channel's people, not for anybody's. */
function requireOwnSender(identity: Identity, body: unknown, source: string | null): void {
  if (covers(identity.scopes, "operate")) return;
  const sender = field(field(body, "msg_metadata"), "sender_id");
  if (typeof sender !== "string" || source === null || belongsTo(sender, source)) return;
  throw new Problem(
    403,
    `A token for "${source}" cannot speak as "${sender}": its senders are "${source}:…".`,
  );
}

/**
 * Whoever came by a personal link speaks as that person: as nobody else, not as a program or a bot either, and now. What
 * others said before in a thread is for a channel to tell.
 */
async function asThemselves(gateway: Gateway, personId: string, body: unknown): Promise<unknown> {
  const person = await gateway.person(personId);
  if (!person) throw unauthorised("The person this link belonged to is not known here any more.");
  const metadata = field(body, "msg_metadata");
  if (typeof body !== "object" || body === null || typeof metadata !== "object" || metadata === null)
    return body;
  const own = { sender_id: webSender(person.id), sender_display_name: person.name, sender_type: "human" };
  const notTheirs = { mention_token: null, is_from_me: null, thread_context: null };
  return { ...body, timestamp: null, msg_metadata: { ...metadata, ...own, ...notTheirs } };
}

function sourceOf(body: unknown): string | null {
  const metadata = field(body, "msg_metadata");
  const source = field(metadata, "source");
  return typeof source === "string" ? source : null;
}

function isSystem(body: unknown): boolean {
  return field(body, "role") === "system";
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function idempotencyKey(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header !== "string" || header.length === 0 || header.length > 255) {
    throw invalid([{ path: "Idempotency-Key", reason: "expected one value of 1 to 255 characters" }]);
  }
  return header;
}
