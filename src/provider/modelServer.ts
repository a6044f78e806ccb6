import type { Api, Fetch, Model, ModelFacts } from "./codec.js";
import { isRecord, parseJson } from "./json.js";
import { toldFacts } from "./toldFacts.js";

/** Where a list of models is asked for. */
export type ModelServer = Pick<Model, "provider" | "api" | "baseUrl" | "apiKey">;
export type ToldModel = { id: string; facts: Partial<ModelFacts> };
export type ToldModels = { ok: true; models: ToldModel[] } | { ok: false; why: string };

type Ask = (path: string, body?: unknown) => Promise<unknown>;

/** No server has more that anybody would read through. */
const MOST_MODELS = 1000;
/** Ollama tells what a model takes one by one. */
const MOST_SHOWN = 50;

/** The models a server says it has. Never throws: why there are none is told in words, without the key. */
export async function askModels(server: ModelServer, fetch: Fetch, signal: AbortSignal): Promise<ToldModels> {
  const ask: Ask = async (path, body) => {
    const init: RequestInit = { headers: headersOf(server), signal, redirect: "error" };
    const sent = body === undefined ? init : { ...init, method: "POST", body: JSON.stringify(body) };
    const response = await fetch(path, sent);
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    return parseJson(await response.text());
  };
  // What stands behind a question mark may be a key.
  const [place] = server.baseUrl.split("?");
  try {
    const listed = await ask(listUrl(server));
    const models = entriesOf(listed).slice(0, MOST_MODELS);
    if (models.length === 0) return { ok: false, why: `${place} lists no models` };
    return { ok: true, models: await withMore(server, models, ask) };
  } catch (error) {
    return { ok: false, why: `${place} does not list its models: ${reasonOf(error, signal)}` };
  }
}

function listUrl({ api, baseUrl }: ModelServer): string {
  const base = baseUrl.replace(/\/+$/, "");
  if (api === "anthropic") return `${base.replace(/\/v1$/, "")}/v1/models?limit=1000`;
  if (api !== "gemini") return `${base}/models`;
  return `${/\/v\d\w*$/.test(base) ? base : `${base}/v1beta`}/models?pageSize=1000`;
}

const KEY_HEADER: Partial<Record<Api, string>> = { anthropic: "x-api-key", gemini: "x-goog-api-key" };

function headersOf({ api, apiKey }: ModelServer): Record<string, string> {
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    ...(api === "anthropic" ? { "anthropic-version": "2023-06-01" } : {}),
  };
  if (apiKey === null) return headers;
  const name = KEY_HEADER[api];
  return name ? { ...headers, [name]: apiKey } : { ...headers, authorization: `Bearer ${apiKey}` };
}

type Entry = { id: string; entry: Record<string, unknown> };

/** `data`, as most spell it, `models`, as Google does, or a bare list. What cannot chat is left out. */
function entriesOf(listed: unknown): Entry[] {
  const lists = isRecord(listed) ? [listed.data, listed.models] : [listed];
  const list: unknown[] = lists.find((one) => Array.isArray(one)) ?? [];
  return list.filter(isRecord).flatMap((entry) => {
    const name = typeof entry.id === "string" ? entry.id : entry.name;
    const id = typeof name === "string" ? name.replace(/^models\//, "") : "";
    return id === "" || !canChat(id, entry) ? [] : [{ id, entry }];
  });
}

const NO_CHAT = /embed|whisper|\btts\b|rerank|moderation|dall-e|transcribe|\bbge-|stable-diffusion|imagen/i;

function canChat(id: string, entry: Record<string, unknown>): boolean {
  const methods = entry.supportedGenerationMethods;
  if (Array.isArray(methods)) return methods.includes("generateContent");
  return !NO_CHAT.test(id) && entry.type !== "embeddings";
}

/** Some tell more elsewhere; where that fails, what the list says must do. */
async function withMore(server: ModelServer, entries: readonly Entry[], ask: Ask): Promise<ToldModel[]> {
  const told = entries.map(({ id, entry }) => ({ id, facts: toldFacts(entry) }));
  const root = server.baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "");
  const quietly = (path: string, body?: unknown) => ask(path, body).catch(() => null);
  if (server.provider === "ollama") return withOllama(told, root, quietly);
  if (entries.some(({ entry }) => entry.owned_by === "llamacpp")) {
    const facts = toldFacts(await quietly(`${root}/props`));
    return told.map((one) => ({ id: one.id, facts: { ...one.facts, ...facts } }));
  }
  return told;
}

async function withOllama(told: readonly ToldModel[], root: string, ask: Ask): Promise<ToldModel[]> {
  const running = await ask(`${root}/api/ps`);
  const loaded = isRecord(running) && Array.isArray(running.models) ? running.models.filter(isRecord) : [];
  return Promise.all(
    told.map(async ({ id, facts }, index) => {
      const shown = index < MOST_SHOWN ? toldFacts(await ask(`${root}/api/show`, { model: id })) : {};
      const inUse = loaded.find(({ name, model }) => name === id || model === id);
      return { id, facts: { ...facts, ...shown, ...(inUse ? toldFacts(inUse) : {}) } };
    }),
  );
}

function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return "it took too long";
  const cause = error instanceof Error ? error.cause : null;
  if (isRecord(cause) && cause.code === "ECONNREFUSED") return "nothing listens there";
  if (isRecord(cause) && typeof cause.code === "string") return cause.code;
  return error instanceof Error ? error.message : String(error);
}
