import { z } from "zod";
import { Chat, ChatPatch, MessageRow, NewChat, wellFormed } from "../../../message/index.js";
import type { ChatResult } from "../../../gateway/index.js";
import { listOf, limit, page } from "../paging.js";
import { invalid, Problem, parsed, unknown } from "../problem.js";
import { type Answer, ok, type Route, route } from "../route.js";

const HostBody = z.strictObject({ content: wellFormed.min(1).max(64 * 1024) });
const CustomBody = z.strictObject({
  custom_type: wellFormed.min(1).max(255),
  content: wellFormed.max(1024 * 1024),
});
const AddressQuery = z.object({
  state: z.enum(["unregistered"]).optional(),
  after: z.string().optional(),
  limit,
});
const KnownAddress = z.object({
  address: z.string(),
  channel: z.string(),
  name: z.string(),
  first_seen: z.string(),
  last_seen: z.string(),
  count: z.int(),
});
const Listing = z.object({ limit, after: z.string().optional() });

export const chatRoutes: Route[] = [
  route({
    method: "GET",
    path: "/v1/chats",
    summary: "All chats",
    scope: "read",
    query: Listing,
    answers: { status: 200, schema: listOf("chats", Chat) },
    handle: async ({ gateway }, { query }) => {
      const all = await gateway.read.chats();
      const last = all.findIndex((chat) => chat.jid === query.after);
      if (query.after !== undefined && last < 0)
        throw invalid([{ path: "after", reason: "expected the jid of a chat that is still registered" }]);
      const later = all.slice(last + 1);
      return ok(page("chats", later.slice(0, query.limit), query.limit, (chat) => chat.jid));
    },
  }),
  route({
    method: "POST",
    path: "/v1/chats",
    summary: "Register a chat",
    scope: "operate",
    body: NewChat,
    answers: { status: 201, schema: Chat },
    handle: async ({ gateway }, { body }) => chatAnswer(await gateway.registerChat(body), 201),
  }),
  route({
    method: "GET",
    path: "/v1/chats/:jid",
    summary: "One chat",
    scope: "read",
    answers: { status: 200, schema: Chat },
    handle: async ({ gateway }, { params }) => {
      const chat = await gateway.read.chat(params.jid ?? "");
      if (!chat) throw unknown("chat");
      return ok(chat);
    },
  }),
  route({
    method: "PATCH",
    path: "/v1/chats/:jid",
    summary: "Change a chat's settings",
    scope: "operate",
    body: ChatPatch,
    answers: { status: 200, schema: Chat },
    handle: async ({ gateway }, { params, body }) =>
      chatAnswer(await gateway.changeChat(params.jid ?? "", body), 200),
  }),
  route({
    method: "DELETE",
    path: "/v1/chats/:jid",
    summary: "Unregister a chat",
    scope: "operate",
    answers: { status: 204, schema: null },
    handle: async ({ gateway }, { params }) => {
      if (!(await gateway.removeChat(params.jid ?? ""))) throw unknown("chat");
      return { status: 204 };
    },
  }),
  route({
    method: "GET",
    path: "/v1/addresses",
    summary: "Who knocked: addresses that belong to no chat, the newest last",
    scope: "read",
    query: AddressQuery,
    answers: { status: 200, schema: listOf("addresses", KnownAddress) },
    handle: async ({ gateway }, { query }) => {
      const all = await gateway.read.addresses();
      const last = all.findIndex((known) => known.address === query.after);
      if (query.after !== undefined && last < 0)
        throw invalid([{ path: "after", reason: "expected an address that is still unregistered" }]);
      const later = all.slice(last + 1, last + 1 + query.limit);
      return ok(page("addresses", later, query.limit, (known) => known.address));
    },
  }),
  route({
    method: "POST",
    path: "/v1/chats/:jid/host",
    summary: "A host message: for people, never for a model",
    scope: "operate",
    body: HostBody,
    answers: { status: 201, schema: MessageRow },
    handle: async ({ gateway }, { params, body }) => {
      const row = await gateway.postHost(params.jid ?? "", parsed(HostBody, body).content);
      if (!row) throw unknown("chat");
      return ok(row, 201);
    },
  }),
  route({
    method: "POST",
    path: "/v1/chats/:jid/custom",
    summary: "A custom entry on the tree, never for a model",
    scope: "operate",
    body: CustomBody,
    bodySize: "text",
    answers: { status: 201, schema: z.object({ id: z.string(), custom_type: z.string() }) },
    handle: async ({ gateway }, { params, body }) => {
      const { custom_type, content } = parsed(CustomBody, body);
      const id = await gateway.postCustom(params.jid ?? "", custom_type, content);
      if (!id) throw unknown("chat");
      return ok({ id, custom_type }, 201);
    },
  }),
  route({
    method: "POST",
    path: "/v1/chats/:jid/stop",
    summary: "Cancel the running turn",
    scope: "operate",
    answers: { status: 204, schema: null },
    handle: async ({ gateway }, { params }) => {
      if (!(await gateway.read.chat(params.jid ?? ""))) throw unknown("chat");
      if (!(await gateway.stopTurn(params.jid ?? "")))
        throw new Problem(409, "No turn is running in this chat.");
      return { status: 204 };
    },
  }),
];

function chatAnswer(result: ChatResult, status: number): Answer {
  switch (result.status) {
    case "ok":
      return ok(result.chat, status);
    case "unknown":
      throw unknown("chat");
    case "invalid":
      throw invalid(result.errors);
    case "conflict":
      throw new Problem(409, result.why);
  }
}
