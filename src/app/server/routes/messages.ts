import { z } from "zod";
import {
  contentTooLarge,
  MESSAGE_TYPES,
  MessageRow,
  OUTCOMES,
  Outcome,
  SubmitBody,
  Block,
  LeftOut,
} from "../../../message/index.js";
import type { Gateway } from "../../../gateway/index.js";
import { limit, listOf, page, seq } from "../paging.js";
import { invalid, Problem, parsed, unknown } from "../problem.js";
import { type Answer, ok, type Route, route } from "../route.js";

const MessagesQuery = z.object({
  after_seq: seq.optional(),
  before_seq: seq.optional(),
  limit,
  type: z.enum(MESSAGE_TYPES).optional(),
  sender: z.string().optional(),
  q: z.string().max(1000).optional(),
});
type MessagesQuery = z.output<typeof MessagesQuery>;
const ReviseBody = z.strictObject({ content: SubmitBody.shape.content.min(1) });
const Revision = z.object({ revision: z.int(), content: z.string().nullable(), at: z.string() });
const OutcomesQuery = z.object({ outcome: z.enum(OUTCOMES).optional(), after_seq: seq.default(0), limit });
const ContextPreview = z.object({ blocks: z.array(Block), left_out: z.array(LeftOut), body: z.string() });

const requireChat = async (gateway: Gateway, jid = ""): Promise<string> => {
  if (!(await gateway.read.chat(jid))) throw unknown("chat");
  return jid;
};

function requireFits(content: string): void {
  if (!contentTooLarge(content)) return;
  const reason = "content is larger than 1 MiB of UTF-8";
  throw new Problem(413, reason, [{ path: "content", reason }]);
}

export const messageRoutes: Route[] = [
  route({
    method: "GET",
    path: "/v1/chats/:jid/messages",
    summary: "Read, or search with `q`",
    scope: "read",
    query: MessagesQuery,
    answers: { status: 200, schema: listOf("messages", MessageRow) },
    handle: async ({ gateway }, { params, query }) =>
      ok(await readMessages(gateway, await requireChat(gateway, params.jid), query)),
  }),
  route({
    method: "GET",
    path: "/v1/chats/:jid/messages/:id",
    summary: "One message",
    scope: "read",
    answers: { status: 200, schema: MessageRow },
    handle: async ({ gateway }, { params }) => {
      const row = await gateway.read.message(params.jid ?? "", params.id ?? "");
      if (!row) throw unknown("message");
      return ok(row);
    },
  }),
  route({
    method: "PATCH",
    path: "/v1/chats/:jid/messages/:id",
    summary: "Revise a message; the original stays readable",
    scope: "operate",
    body: ReviseBody,
    bodySize: "text",
    answers: { status: 200, schema: MessageRow },
    handle: async ({ gateway }, { params, body }) => {
      const { content } = parsed(ReviseBody, body);
      requireFits(content);
      const row = await gateway.revise(params.jid ?? "", params.id ?? "", content);
      if (!row) throw unknown("message");
      return ok(row);
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/chats/:jid/messages/:id",
    summary: "Delete a message",
    scope: "operate",
    answers: { status: 204, schema: null },
    handle: async ({ gateway }, { params }) => {
      if (!(await gateway.revise(params.jid ?? "", params.id ?? "", null))) throw unknown("message");
      return { status: 204 };
    },
  }),
  route({
    method: "GET",
    path: "/v1/chats/:jid/messages/:id/revisions",
    summary: "What a message said before",
    scope: "operate",
    answers: { status: 200, schema: listOf("revisions", Revision) },
    handle: async ({ gateway }, { params }) => {
      const [jid, id] = [params.jid ?? "", params.id ?? ""];
      if (!(await gateway.read.message(jid, id))) throw unknown("message");
      return ok({ revisions: await gateway.read.revisions(jid, id), next: null });
    },
  }),
  route({
    method: "GET",
    path: "/v1/chats/:jid/messages/:id/outcome",
    summary: "Why it was answered, or why not",
    scope: "read",
    answers: { status: 200, schema: Outcome },
    handle: async ({ gateway }, { params }) => {
      const outcome = await gateway.outcome(params.jid ?? "", params.id ?? "");
      if (!outcome)
        throw new Problem(
          404,
          "There is no such inbound message. Only messages that came in have an outcome.",
        );
      return ok(outcome);
    },
  }),
  route({
    method: "GET",
    path: "/v1/chats/:jid/outcomes",
    summary: "What became of the chat's messages",
    scope: "read",
    query: OutcomesQuery,
    answers: { status: 200, schema: listOf("outcomes", Outcome) },
    handle: async ({ gateway }, { params, query }) => {
      const chat_jid = await requireChat(gateway, params.jid);
      const outcomes = await gateway.outcomes({ ...query, chat_jid, outcome: query.outcome ?? null });
      const last = outcomes.at(-1);
      const full = last !== undefined && outcomes.length === query.limit;
      const next = full ? ((await gateway.read.message(chat_jid, last.message_id))?.seq ?? null) : null;
      return ok({ outcomes, next });
    },
  }),
  route({
    method: "GET",
    path: "/v1/chats/:jid/context",
    summary: "What the next call would send",
    scope: "read",
    answers: { status: 200, schema: ContextPreview },
    handle: async ({ gateway }, { params }) => preview(await gateway.context(params.jid ?? "", undefined)),
  }),
  route({
    method: "POST",
    path: "/v1/chats/:jid/context",
    summary: "What the next call would send if this were said; stored nowhere",
    scope: "read",
    body: SubmitBody,
    bodySize: "message",
    answers: { status: 200, schema: ContextPreview },
    handle: async ({ gateway }, { params, body }) => {
      const said = z.object({ content: z.string() }).safeParse(body);
      if (said.success) requireFits(said.data.content);
      return preview(await gateway.context(params.jid ?? "", body ?? null));
    },
  }),
];

async function readMessages(
  gateway: Gateway,
  chat_jid: string,
  query: MessagesQuery,
): Promise<Record<string, unknown>> {
  if (query.q !== undefined) {
    const found = await gateway.read.search(chat_jid, query.q, query.limit);
    return { messages: found.filter((row) => fits(row, query)), next: null };
  }
  const rows = await gateway.read.messages({
    chat_jid,
    after_seq: query.after_seq ?? null,
    before_seq: query.before_seq ?? null,
    limit: query.limit,
    message_type: query.type ?? null,
    sender: query.sender ?? null,
  });
  const backwards = query.before_seq !== undefined && query.after_seq === undefined;
  const first = rows[0];
  if (!backwards) return page("messages", rows, query.limit, (row) => row.seq);
  return { messages: rows, next: first && rows.length === query.limit && first.seq > 1 ? first.seq : null };
}

/** Does a found message also have what else was asked for? */
function fits(row: MessageRow, query: MessagesQuery): boolean {
  if (query.type !== undefined && row.message_type !== query.type) return false;
  if (query.sender !== undefined && row.sender !== query.sender) return false;
  return row.seq > (query.after_seq ?? 0) && row.seq < (query.before_seq ?? Number.POSITIVE_INFINITY);
}

function preview(result: Awaited<ReturnType<Gateway["context"]>>): Answer {
  if (!result) throw unknown("chat");
  if (result.ok) return ok(result.preview);
  if ("errors" in result) throw invalid(result.errors);
  throw new Problem(409, result.why);
}
