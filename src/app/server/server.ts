import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Identity } from "../../gateway/index.js";
import { identify, requireScope } from "./auth.js";
import { BODY_LIMITS, readJson } from "./body.js";
import { fail, failSocket, failUrl } from "./failure.js";
import { guard } from "./guard.js";
import { openApi } from "./openapi.js";
import { pageFile } from "./page.js";
import { parsed, unknown } from "./problem.js";
import type { Answer, Route, Served } from "./route.js";
import { callRoutes } from "./routes/calls.js";
import { chatRoutes } from "./routes/chats.js";
import { ingestRoutes } from "./routes/ingest.js";
import { messageRoutes } from "./routes/messages.js";
import { operateRoutes } from "./routes/operate.js";
import { peopleRoutes } from "./routes/people.js";
import { treeRoutes } from "./routes/tree.js";
import { EventsQuery, serveEvents, startOf } from "./streams.js";

/** A whole request has to be here by then; large attachments come over slow lines too. */
const REQUEST_TIMEOUT_MS = 120_000;
/** A connection on which nothing moves either way is dead; event streams have their heartbeat. */
const CONNECTION_TIMEOUT_MS = 120_000;
const ROUTES: readonly Route[] = [
  ...chatRoutes,
  ...ingestRoutes,
  ...messageRoutes,
  ...callRoutes,
  ...operateRoutes,
  ...peopleRoutes,
  ...treeRoutes,
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

const NOBODY: Identity = { name: "nobody", scopes: [], person_id: null };

/** The doors: HTTP API, event stream, webhooks and page. */
export function createServer(options: ServerOptions): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_LIMITS.settings,
    routerOptions: { maxParamLength: 2048, ignoreTrailingSlash: false },
    forceCloseConnections: true,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    // The guard says what is wrong with a missing name; Node would only close the line.
    http: { requireHostHeader: false },
    frameworkErrors: (error, _request, reply) => failUrl(error, reply),
    clientErrorHandler: failSocket,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
  });
  app.addHook("onRequest", async (request) => guard(request, options.hosts));
  app.setErrorHandler((error, _request, reply) => fail(error, reply, options.report));
  readJson(app);
  for (const route of ROUTES) serve(app, route, options);
  servePlain(app, options);
  return app;
}

/** Our routes bring no JSON Schema, zod reads what comes in: fastify need not load its schema compilers to start. */
function noSchemas(): never {
  throw new Error("routes have no JSON Schema here");
}

/** Who asks is known before the body is read: strangers cannot make us read and parse. */
function serve(app: FastifyInstance, route: Route, served: ServerOptions): void {
  const identities = new WeakMap<FastifyRequest, Identity>();
  app.route({
    method: route.method,
    url: route.path,
    bodyLimit: BODY_LIMITS[route.bodySize ?? "settings"],
    onRequest: async (request) => {
      if (route.scope === "open") return;
      const identity = await identify(served.tokens, request.headers.authorization);
      if (route.scope !== "source") requireScope(identity, route.scope);
      identities.set(request, identity);
    },
    handler: async (request, reply) => {
      const answer = await route.handle(served, {
        params: request.params as Record<string, string>,
        query: route.query ? parsed(route.query, request.query) : {},
        body: request.body,
        headers: request.headers,
        identity: identities.get(request) ?? NOBODY,
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
  app.get("/v1/events", { exposeHeadRoute: false }, async (request, reply) => {
    requireScope(await identify(tokens, request.headers.authorization), "read");
    const { after, chat } = parsed(EventsQuery, request.query);
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
    onRequest: async (request) => {
      if (!gateway.channel(request.params.name)?.webhook) throw unknown("channel with a webhook");
    },
    handler: async (request, reply) => {
      const webhook = gateway.channel(request.params.name)?.webhook;
      if (!webhook) throw unknown("channel with a webhook");
      const answer = await webhook({
        method: request.method,
        headers: singles(request.headers),
        body: Buffer.isBuffer(request.body) ? request.body : new Uint8Array(),
        query: singles(request.query as Record<string, string | string[]>),
      });
      return reply
        .code(answer.status)
        .headers(answer.headers ?? {})
        .send(answer.body ?? "");
    },
  });
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

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** Where something was given twice, the first counts. */
function singles(values: Record<string, string | string[] | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, one(value)]));
}
