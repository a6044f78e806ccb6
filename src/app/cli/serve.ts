import { fileURLToPath } from "node:url";
import type { Container } from "../../agent/index.js";
import type { Channel } from "../../channel/channel.js";
import { webhook } from "../../channel/webhook.js";
import { createGateway, type Log, systemClock, Tokens } from "../../gateway/index.js";
import { type Catalogue, type ChosenModel, listedModel } from "../../provider/catalogue.js";
import { resolveModel } from "../../provider/model.js";
import { UNKNOWN_FACTS } from "../../provider/modelFacts.js";
import type { ModelListing } from "../../message/index.js";
import type { Store } from "../../store/store.js";
import { createServer } from "../server/server.js";
import { leaveAddress, removeAddress } from "./address.js";
import { catalogueFrom } from "./catalogue.js";
import { containersFrom } from "./containers.js";
import { mcpTools } from "./mcp.js";
import { type Env, isLoopback, SettingError, type Settings } from "./settings.js";
import { shellFrom } from "./shell.js";
import { transcriberFrom } from "./transcriber.js";
import { version } from "./version.js";

/** How long running turns may still take once we are asked to stop. */
const GRACE_MS = 3000;
const LOOK_FOR_TOOLS_MS = 60_000;
const TOOLS_NAMED = 6;

export type Serving = {
  env: Env;
  settings: Settings;
  token: string;
  store: Store;
  /** By what name we hold leases. */
  holder: string;
  /** Where the data is. */
  where: string;
};

/** Serve what the store holds, and say where. Resolves when it listens. */
export async function serve({ env, settings, token, store, holder, where }: Serving): Promise<void> {
  const log = logger(env);
  const known = catalogueFrom(env, settings.data);
  const model = await known.chosen();
  const containers = containersFrom(env, log);
  const isContainer = containers.some(({ name }) => model.name === `container/${name}`);
  const found = resolveModel(model.name, env);
  if (!found.ok && !isContainer) throw new SettingError(`The model cannot be used: ${found.why}`);
  const tokens = new Tokens(store, token, systemClock);
  const mcp = await mcpTools(env, log);
  // A server that was down when we started may be up by now.
  systemClock.every(LOOK_FOR_TOOLS_MS, () => void mcp.refresh());
  const gateway = createGateway({
    store,
    resolveModel: (name) => known.resolve(name),
    defaultModel: model.name,
    assistantName: settings.assistantName,
    aliases: settings.aliases,
    channels: channels(env),
    tools: mcp.tools,
    containers,
    shell: shellFrom(env),
    transcriber: transcriberFrom(env),
    budget: settings.budget,
    receipts: settings.receipts,
    log,
    holder,
  });
  await gateway.start();
  const server = createServer({
    gateway,
    tokens,
    models: () => models(known, model, containers),
    version: version(),
    pageFolder: fileURLToPath(new URL("../../web", import.meta.url)),
    hosts: isLoopback(settings.host) ? ["localhost", "127.0.0.1", "[::1]", settings.host] : null,
    report: (error) =>
      log("error", "request.error", {
        why: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
  });
  await server.listen({ host: settings.host, port: settings.port });
  // What is known of the model is read while nobody waits for it yet.
  void known.resolve(model.name);
  const address = addressOf(server, settings.host);
  leaveWord(settings.data, address, log);
  const stop = once(async () => {
    removeAddress(settings.data);
    await server.close();
    await gateway.stop(GRACE_MS);
    await mcp.close();
    await store.close();
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => void stop().then(() => process.exit(0)));
  process.stdout.write(
    welcome({
      address,
      page: env.LONGHAND_URL?.replace(/\/+$/, "") || address,
      code: await tokens.loginCode(),
      model,
      tools: mcp.tools.map(({ name }) => name),
      data: where,
    }),
  );
}

/** Serving matters more than being found without LONGHAND_PORT: a folder that cannot be written to is only told of. */
function leaveWord(data: string, address: string, log: Log): void {
  try {
    leaveAddress(data, address);
  } catch (error) {
    log("warn", "address.problem", { why: error instanceof Error ? error.message : String(error) });
  }
}

/** Where we are: the name we were given, with the port we got. */
function addressOf(server: ReturnType<typeof createServer>, host: string): string {
  const bound = server.server.address();
  const port = bound !== null && typeof bound === "object" ? bound.port : 0;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

type Welcome = {
  address: string;
  /** Where people reach the page: not our address where something stands between. */
  page: string;
  code: string;
  model: { name: string; why: string };
  tools: readonly string[];
  data: string;
};

function welcome({ address, page, code, model, tools, data }: Welcome): string {
  const lines = [
    `Longhand is listening on ${address}`,
    "",
    `  talk    ${page}/#code=${code}`,
    "          (opens the page once; `npx longhand link` makes another)",
    `  model   ${model.name}: ${model.why}`,
    ...(tools.length > 1 ? [`  tools   ${named(tools)}`] : []),
    `  data    ${data}`,
    "",
  ];
  return `${lines.join("\n")}\n`;
}

/** The first few by name, and how many more there are. */
function named(tools: readonly string[]): string {
  const shown = tools.slice(0, TOOLS_NAMED).join(", ");
  return tools.length > TOOLS_NAMED ? `${shown} and ${tools.length - TOOLS_NAMED} more` : shown;
}

/** A channel starts when its secrets are there. */
function channels(env: Env): Channel[] {
  const { LONGHAND_WEBHOOK_SECRET: secret, LONGHAND_WEBHOOK_URL: url } = env;
  if (url && !/^https?:\/\//.test(url)) {
    throw new SettingError(`LONGHAND_WEBHOOK_URL is "${url}": set it to an http(s) address.`);
  }
  return [webhook({ secret: secret || null, url: url || null })];
}

/** Models and containers; the default first. */
async function models(
  known: Catalogue,
  chosen: ChosenModel,
  containers: readonly Container[],
): Promise<ModelListing[]> {
  const outside = containers.map(({ name: container }): ModelListing => {
    const name = `container/${container}`;
    const isDefault = name === chosen.name;
    const facts = { available: true, note: isDefault ? chosen.why : null, facts: UNKNOWN_FACTS, at: 0 };
    return { ...listedModel(name, facts), default: isDefault };
  });
  const isOutside = outside.some((container) => container.default);
  const listed = await known.list(isOutside ? null : chosen);
  return isOutside ? [...outside, ...listed] : [...listed, ...outside];
}

/** One line of JSON per event on standard error: trouble always, everything with LONGHAND_LOG=info. */
function logger(env: Env): Log {
  const all = env.LONGHAND_LOG === "info";
  return (level, event, ids) => {
    if (level === "info" && !all) return;
    process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), level, event, ...ids })}\n`);
  };
}

function once(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= action();
    return running;
  };
}
