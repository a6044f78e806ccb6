import { z } from "zod";
import { Delivery, DeliveryState, ModelListing, UsageLine, wellFormed } from "../../../message/index.js";
import { unauthorised } from "../auth.js";
import { limit, listOf, page } from "../paging.js";
import { Problem, parsed, unknown } from "../problem.js";
import { type Answer, ok, type Route, route, type Served } from "../route.js";

const OutboxQuery = z.object({ state: DeliveryState.optional(), after: z.string().optional(), limit });
const SCOPE = z
  .string()
  .regex(
    /^(read|operate|admin|ingest:[a-z0-9][a-z0-9_.-]*)$/,
    "expected read, operate, admin or ingest:<source>",
  );
const TokenBody = z.strictObject({ name: wellFormed.min(1).max(255), scopes: z.array(SCOPE).min(1).max(50) });
const TokenListing = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  created_at: z.string(),
  person_id: z.string().nullable(),
});
/** Whose link it was: they speak as themselves. */
const Opener = z.object({ id: z.string(), name: z.string() });
const LoginBody = z.strictObject({ code: z.string().min(1).max(255) });

const day = z.iso.date();
const UsageQuery = z.object({
  by: z.enum(["chat", "person", "model", "day"]).default("day"),
  from: day.optional(),
  to: day.optional(),
});

/** The desk: what is on its way out, who may come in, what can be asked. */
export const operateRoutes: Route[] = [
  route({
    method: "GET",
    path: "/v1/outbox",
    summary: "Deliveries, oldest first",
    scope: "read",
    query: OutboxQuery,
    answers: { status: 200, schema: listOf("outbox", Delivery) },
    handle: async ({ gateway }, { query }) => {
      const found = await gateway.read.deliveries({
        chat_jid: null,
        message_id: null,
        state: query.state ?? null,
        after: query.after ?? null,
        limit: query.limit,
      });
      return ok(page("outbox", found, query.limit, (delivery) => delivery.id));
    },
  }),
  route({
    method: "POST",
    path: "/v1/outbox/:id/retry",
    summary: "Send a delivery again",
    scope: "operate",
    answers: { status: 204, schema: null },
    handle: (served, { params }) => move(served, params.id, "retry"),
  }),
  route({
    method: "POST",
    path: "/v1/outbox/:id/drop",
    summary: "Give a delivery up",
    scope: "operate",
    answers: { status: 204, schema: null },
    handle: (served, { params }) => move(served, params.id, "drop"),
  }),
  route({
    method: "GET",
    path: "/v1/usage",
    summary: "Tokens and money, by chat, person, model or day",
    scope: "read",
    query: UsageQuery,
    answers: { status: 200, schema: listOf("usage", UsageLine) },
    handle: async ({ gateway }, { query }) => ok({ usage: await gateway.usage(query), next: null }),
  }),
  route({
    method: "GET",
    path: "/v1/tokens",
    summary: "Tokens, without their secrets",
    scope: "admin",
    answers: { status: 200, schema: listOf("tokens", TokenListing) },
    handle: async ({ tokens }) => ok({ tokens: await tokens.list(), next: null }),
  }),
  route({
    method: "POST",
    path: "/v1/tokens",
    summary: "Hand out a token; its secret is told once",
    scope: "admin",
    body: TokenBody,
    answers: { status: 201, schema: TokenListing.extend({ token: z.string() }) },
    handle: async ({ tokens }, { body }) => {
      const { name, scopes } = parsed(TokenBody, body);
      const { sha256: _, ...created } = await tokens.create(name, scopes);
      return ok(created, 201);
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/tokens/:id",
    summary: "Take a token back",
    scope: "admin",
    answers: { status: 204, schema: null },
    handle: async ({ tokens }, { params }) => {
      if (!(await tokens.remove(params.id ?? ""))) throw unknown("token");
      return { status: 204 };
    },
  }),
  route({
    method: "POST",
    path: "/v1/links",
    summary: "A one-time code that opens the web page",
    scope: "admin",
    answers: { status: 201, schema: z.object({ code: z.string() }) },
    handle: async ({ tokens }) => ok({ code: await tokens.loginCode() }, 201),
  }),
  route({
    method: "POST",
    path: "/v1/login",
    summary: "Change a one-time code into a token",
    scope: "open",
    body: LoginBody,
    bodySize: "code",
    answers: { status: 200, schema: z.object({ token: z.string(), person: Opener.nullable() }) },
    handle: async ({ tokens }, { body }) => {
      const entered = await tokens.login(parsed(LoginBody, body).code);
      if (!entered)
        throw unauthorised(
          "This link was used already or is too old; `longhand link` makes a new one, `longhand people link <id>` a personal one.",
        );
      return ok({ token: entered.token, person: entered.opener });
    },
  }),
  route({
    method: "GET",
    path: "/v1/models",
    summary: "What can be used now, what is known of it, and what is missing for the rest",
    scope: "read",
    answers: { status: 200, schema: listOf("models", ModelListing) },
    handle: async ({ models }) => ok({ models: await models(), next: null }),
  }),
];

async function move({ gateway }: Served, id = "", to: "retry" | "drop"): Promise<Answer> {
  const moved = await gateway.moveDelivery(id, to);
  if (moved === "unknown") throw unknown("delivery");
  if (moved === "conflict") throw new Problem(409, "This delivery is on its way or has arrived.");
  return { status: 204 };
}
