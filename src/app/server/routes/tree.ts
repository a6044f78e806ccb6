import { z } from "zod";
import type { Moved, TreeRefusal } from "../../../gateway/index.js";
import { wellFormed } from "../../../message/index.js";
import { limit, page } from "../paging.js";
import { Problem, parsed, sentence, unknown } from "../problem.js";
import { type Answer, ok, type Route, route } from "../route.js";

/** Nobody keeps a connection open for longer, on which nothing moves. */
const PATIENCE_MS = 90_000;

const TreeEntry = z.object({
  id: z.string(),
  thread_id: z.string(),
  parent: z.string().nullable(),
  kind: z.string(),
  message_id: z.string().nullable(),
  turn_id: z.string().nullable(),
  at: z.string(),
  data: z.record(z.string(), z.unknown()),
  message: z
    .object({ sender: z.string(), sender_name: z.string(), content: z.string(), deleted: z.boolean() })
    .nullable(),
});
const TreePage = z.object({
  tree: z.array(TreeEntry),
  head: z.string().nullable(),
  next: z.string().nullable(),
});
const TreeQuery = z.object({
  limit,
  after: z.string().optional(),
  thread_id: z.string().default(""),
  newest: z
    .enum(["true", "false"])
    .default("false")
    .transform((word) => word === "true"),
});
const id = wellFormed.min(1).max(1000);
const thread_id = wellFormed.max(1000).default("");
const ForkBody = z.strictObject({ from: id, summarise: z.boolean().default(false), thread_id });
const HeadBody = z.strictObject({ entry_id: id.nullable(), thread_id });
const CompactBody = z.strictObject({ thread_id });
const LabelBody = z.strictObject({ entry_id: id, label: wellFormed.min(1).max(255) });
const Head = z.object({ head: z.string().nullable() });

/** The tree of a chat, and what moves along it. */
export const treeRoutes: Route[] = [
  route({
    method: "GET",
    path: "/v1/chats/:jid/tree",
    summary: "The entries of the chat's tree in the order they were made, and a thread's head",
    scope: "read",
    query: TreeQuery,
    answers: { status: 200, schema: TreePage },
    handle: async ({ gateway }, { params, query }) => {
      const chat_jid = params.jid ?? "";
      if (!(await gateway.read.chat(chat_jid))) throw unknown("chat");
      const { tree, head } = await gateway.tree({ ...query, chat_jid, after: query.after ?? null });
      const listed = page("tree", tree, query.limit, (entry) => entry.id);
      return ok({ ...listed, head, ...(query.newest ? { next: null } : {}) });
    },
  }),
  route({
    method: "POST",
    path: "/v1/chats/:jid/fork",
    summary: "Go on from a message or an entry; the branch that is left stays",
    scope: "operate",
    body: ForkBody,
    answers: { status: 200, schema: Head },
    handle: async ({ gateway }, { params, body }) =>
      moved(await gateway.fork(params.jid ?? "", parsed(ForkBody, body), PATIENCE_MS)),
  }),
  route({
    method: "POST",
    path: "/v1/chats/:jid/head",
    summary: "Move the head to any entry; null starts a fresh branch",
    scope: "operate",
    body: HeadBody,
    answers: { status: 200, schema: Head },
    handle: async ({ gateway }, { params, body }) =>
      moved(await gateway.moveHead(params.jid ?? "", parsed(HeadBody, body))),
  }),
  route({
    method: "POST",
    path: "/v1/chats/:jid/label",
    summary: "Give an entry a name; it stands beside the entry, on no branch",
    scope: "operate",
    body: LabelBody,
    answers: { status: 200, schema: Head },
    handle: async ({ gateway }, { params, body }) =>
      moved(await gateway.labelEntry(params.jid ?? "", parsed(LabelBody, body))),
  }),
  route({
    method: "POST",
    path: "/v1/chats/:jid/compact",
    summary: "Summarise what is old; the originals stay",
    scope: "operate",
    body: CompactBody,
    answers: { status: 200, schema: z.object({ entry: TreeEntry }) },
    handle: async ({ gateway }, { params, body }) => {
      const asked = parsed(CompactBody, body ?? {});
      const made = await gateway.compact(params.jid ?? "", asked.thread_id, PATIENCE_MS);
      return made.ok ? ok({ entry: made.entry }) : refused(made);
    },
  }),
];

function moved(result: Moved): Answer {
  return result.ok ? ok({ head: result.head }) : refused(result);
}

function refused({ kind, why }: TreeRefusal): Answer {
  switch (kind) {
    case "unknown":
      throw new Problem(404, sentence(why));
    case "busy":
    case "refused":
      throw new Problem(409, sentence(why));
    case "waiting":
      return ok({ waiting: why }, 202);
  }
}
