import { isUtf8 } from "node:buffer";
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import { type Identity, StoreUnavailable } from "../../gateway/index.js";
import { identify, requireScope } from "./auth.js";
import { openApi } from "./openapi.js";
import { pageFile } from "./page.js";
import { invalid, Problem, parsed, unknown } from "./problem.js";
import type { Answer, Route, Served } from "./route.js";
import { callRoutes } from "./routes/calls.js";
import { chatRoutes } from "./routes/chats.js";
import { ingestRoutes } from "./routes/ingest.js";
import { messageRoutes } from "./routes/messages.js";
import { operateRoutes } from "./routes/operate.js";
import { serveEvents, startOf } from "./streams.js";

const BODY_LIMIT = 32 * 1024 * 1024;
const ROUTES: readonly Route[] = [
  ...chatRoutes,
  ...ingestRoutes,
  ...messageRoutes,
  ...callRoutes,
  ...operateRoutes,
];

export type ServerOptions = Served & {
  version: string;
  /** The folder of the built page. */
  pageFolder: string;
  /** Names under which browsers may know us; null when any will do. */
  hosts: readonly string[] | null;
  /** Told of what we did not expect. */
  report: (error: unknown) => void;
};

const NOBODY: Identity = { name: "nobody", scopes: [] };

/** The doors: HTTP API, event stream, webhooks and page. */
export function createServer(options: ServerOptions): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    routerOptions: { maxParamLength: 2048, ignoreTrailingSlash: true },
    forceCloseConnections: true,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
  });
  app.addHook("onRequest", async (request) => guard(request, options.hosts));
  app.setErrorHandler((error, _request, reply) => fail(error, reply, options.report));
  app.setNotFoundHandler(async () => {
    throw unknown("path; GET /openapi.json lists what there is");
  });
  readJson(app);
  for (const route of ROUTES) serve(app, route, options);
  servePlain(app, options);
  return app;
}

/** Our routes bring no JSON Schema, zod reads what comes in: fastify need not load its schema compilers to start. */
function noSchemas(): never {
  throw new Error("routes have no JSON Schema here");
}

function serve(app: FastifyInstance, route: Route, served: ServerOptions): void {
  app.route({
    method: route.method,
    url: route.path,
    handler: async (request, reply) => {
      const identity =
        route.scope === "open" ? NOBODY : await identify(served.tokens, request.headers.authorization);
      if (route.scope !== "open" && route.scope !== "source") requireScope(identity, route.scope);
      const answer = await route.handle(served, {
        params: request.params as Record<string, string>,
        query: route.query ? parsed(route.query, request.query) : {},
        body: request.body,
        headers: request.headers,
        identity,
      });
      return write(reply, answer);
    },
  });
}

function servePlain(app: FastifyInstance, options: ServerOptions): void {
  const { gateway, tokens, pageFolder } = options;
  app.get("/healthz", async () => ({ status: "ok" }));
  app.get("/readyz", async () => {
    await gateway.read.lastEvent();
    return { status: "ready" };
  });
  app.get("/openapi.json", async (request) => {
    requireScope(await identify(tokens, request.headers.authorization), "read");
    return openApi(ROUTES, options.version);
  });
  app.get<{ Querystring: { after?: string; chat?: string } }>("/v1/events", async (request, reply) => {
    requireScope(await identify(tokens, request.headers.authorization), "read");
    const { after, chat } = request.query;
    if (chat !== undefined && !(await gateway.read.chat(chat))) throw unknown("chat");
    const from = await startOf(gateway, after, one(request.headers["last-event-id"]));
    reply.hijack();
    await serveEvents(gateway, from, chat ?? null, reply.raw);
  });
  app.get("/", async (_request, reply) => page(reply, pageFolder, "index.html"));
  app.get<{ Params: { "*": string } }>("/assets/*", async (request, reply) =>
    page(reply, pageFolder, `assets/${request.params["*"]}`),
  );
  app.register(async (webhooks) => serveWebhooks(webhooks, options));
}

/** Platforms push here; each channel checks its own signature over the raw bytes. */
function serveWebhooks(app: FastifyInstance, { gateway }: ServerOptions): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.route<{ Params: { name: string } }>({
    method: ["GET", "POST"],
    url: "/channels/:name/webhook",
    handler: async (request, reply) => {
      const webhook = gateway.channel(request.params.name)?.webhook;
      if (!webhook) throw unknown("channel with a webhook");
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, one(value)]),
      );
      const answer = await webhook({
        method: request.method,
        headers,
        body: Buffer.isBuffer(request.body) ? request.body : new Uint8Array(),
        query: request.query as Record<string, string | undefined>,
      });
      return reply
        .code(answer.status)
        .headers(answer.headers ?? {})
        .send(answer.body ?? "");
    },
  });
}

/** Bytes that are no UTF-8 would be changed by reading them: they are refused instead. */
function readJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
    if (bytes.length === 0) return done(null, undefined);
    if (!isUtf8(bytes)) return done(invalid([{ path: "", reason: "the body is not valid UTF-8" }]));
    parse(request, bytes.toString("utf8"), done);
  });
}

/** A page elsewhere must not talk to us through somebody's browser, under whatever name it resolved us. */
function guard(request: FastifyRequest, hosts: readonly string[] | null): void {
  const host = hostName(request.headers.host ?? "");
  if (hosts && !hosts.includes(host))
    throw new Problem(403, `This server does not answer to the name "${host}".`);
  const { origin } = request.headers;
  if (origin === undefined || origin === "") return;
  const from = URL.canParse(origin) ? new URL(origin).host : null;
  if (from !== request.headers.host) throw new Problem(403, `Requests from ${origin} are not taken.`);
}

function hostName(header: string): string {
  return header.replace(/:\d+$/, "").toLowerCase();
}

async function page(reply: FastifyReply, folder: string, path: string): Promise<FastifyReply> {
  const file = await pageFile(folder, path);
  if (!file) throw unknown("file; `npm run build` makes the page");
  return reply.headers(file.headers).send(file.bytes);
}

function write(reply: FastifyReply, answer: Answer): FastifyReply {
  reply.code(answer.status).headers(answer.headers ?? {});
  if (answer.bytes) return reply.send(Buffer.from(answer.bytes));
  if (answer.body === undefined) return reply.send();
  return reply.type("application/json; charset=utf-8").send(JSON.stringify(answer.body));
}

function fail(error: unknown, reply: FastifyReply, report: (error: unknown) => void): FastifyReply {
  const problem = problemOf(error as FastifyError, report);
  return reply
    .code(problem.status)
    .headers(problem.headers)
    .type("application/problem+json; charset=utf-8")
    .send(JSON.stringify(problem));
}

function problemOf(
  error: FastifyError | Problem | StoreUnavailable,
  report: (error: unknown) => void,
): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof StoreUnavailable) return new Problem(503, error.message, [], { "retry-after": "1" });
  const status = "statusCode" in error ? error.statusCode : undefined;
  if (status === 413) return new Problem(413, `The body is larger than ${BODY_LIMIT} bytes.`);
  if (status === 415) return new Problem(415, "Send the body as application/json.");
  if (status !== undefined && status >= 400 && status < 500)
    return invalid([{ path: "", reason: error.message }]);
  report(error);
  return new Problem(500, "It was written to the log.");
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
