import { z } from "zod";
import { Call, CallDiff, CallEnvelope, Replay, wellFormed } from "../../../message/index.js";
import { expiryOf, type Gateway, type ReceiptGone } from "../../../gateway/index.js";
import { limit, listOf, page } from "../paging.js";
import { invalid, Problem, parsed, sentence, unknown } from "../problem.js";
import { ok, type Route, route } from "../route.js";

const ReplayBody = z.strictObject({ model: wellFormed.min(1).max(1000).nullish() });
const CallsQuery = z.object({ limit, after: z.string().optional(), turn_id: z.string().optional() });

/** Receipts. */
export const callRoutes: Route[] = [
  route({
    method: "GET",
    path: "/v1/chats/:jid/calls",
    summary: "The chat's calls, oldest first, without their blocks",
    scope: "read",
    query: CallsQuery,
    answers: { status: 200, schema: listOf("calls", CallEnvelope) },
    handle: async ({ gateway }, { params, query }) => {
      const chat_jid = params.jid ?? "";
      if (!(await gateway.read.chat(chat_jid))) throw unknown("chat");
      const calls = await gateway.read.calls({
        chat_jid,
        turn_id: query.turn_id ?? null,
        after: query.after ?? null,
        limit: query.limit,
      });
      return ok(page("calls", calls, query.limit, (call) => call.id));
    },
  }),
  route({
    method: "GET",
    path: "/v1/calls/:id",
    summary: "The receipt of one call",
    scope: "read",
    answers: { status: 200, schema: Call },
    handle: async ({ gateway }, { params }) => {
      const call = await gateway.call(params.id ?? "");
      if (!call) throw unknown("call");
      return ok(call);
    },
  }),
  route({
    method: "GET",
    path: "/v1/calls/:id/request",
    summary: "The exact bytes that were sent",
    scope: "read",
    answers: { status: 200, schema: null },
    handle: async ({ gateway }, { params }) => {
      const bytes = await gateway.request(params.id ?? "");
      if (bytes === null) throw unknown("call");
      if (bytes === "erased") throw new Problem(410, "Some of what this call sent has been erased.");
      if (bytes === "expired") throw await expiredProblem(gateway, params.id ?? "");
      return { status: 200, bytes, headers: { "content-type": "application/json" } };
    },
  }),
  route({
    method: "GET",
    path: "/v1/calls/:a/diff/:b",
    summary: "Two calls, block by block: where they part, why, and what that cost in cache",
    scope: "read",
    answers: { status: 200, schema: CallDiff },
    handle: async ({ gateway }, { params }) => {
      const result = await gateway.diff(params.a ?? "", params.b ?? "");
      if (!result.ok) throw gone(result);
      return ok(result.diff);
    },
  }),
  route({
    method: "POST",
    path: "/v1/calls/:id/replay",
    summary: "The same context for the same or another model: both answers side by side. Runs no tools",
    scope: "operate",
    body: ReplayBody,
    answers: { status: 200, schema: Replay },
    handle: async ({ gateway }, { params, body }) => {
      const { model } = parsed(ReplayBody, body ?? {});
      const result = await gateway.replay(params.id ?? "", model ?? null);
      if (result.ok) return ok(result.replay);
      const { kind, why } = result;
      if (kind === "model") throw invalid([{ path: "model", reason: why }]);
      if (kind === "refused") throw new Problem(409, sentence(why));
      throw gone({ ok: false, kind, why });
    },
  }),
];

async function expiredProblem(gateway: Gateway, id: string): Promise<Problem> {
  const call = await gateway.read.call(id);
  return new Problem(410, sentence((call && expiryOf(call)) ?? "the request is kept no longer"));
}

/** A receipt that is not there, or not any more. */
function gone({ kind, why }: ReceiptGone): Problem {
  return new Problem(kind === "unknown" ? 404 : 410, sentence(why));
}
