import type { Api, Model, Price, Quirks } from "./codec.js";
import { quirksOf } from "./quirks.js";

export type ModelOptions = {
  api: Api;
  id: string;
  /** With its version: `http://127.0.0.1:11434/v1`. The demo needs none. */
  baseUrl?: string;
  apiKey?: string | null;
  /** As in `provider/model`; the API's usual provider when not given. */
  provider?: string;
  window?: number | null;
  quirks?: Partial<Quirks>;
  price?: Price | null;
  delayMs?: number;
};

type Env = Readonly<Record<string, string | undefined>>;

/** A model, or what to type so that there is one. */
export type ResolvedModel = { ok: true; model: Model } | { ok: false; why: string };

const OPENAI = "https://api.openai.com/v1";
const OLLAMA = "http://127.0.0.1:11434/v1";
const DEMO = "demo:";
const DEMO_DELAY_MS = 15;
/** What runs on one's own machine costs nothing by the token. */
const FREE: Price = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
/** Cheap, quick, and open to every key. */
const DEFAULT_OPENAI_ID = "gpt-4.1-mini";
const EXAMPLES = "openai/gpt-4.1-mini, ollama/llama3.2 or demo/demo";

/** A model one can call. Throws on an address that is none: that is a mistake in code, not in a setting. */
export function model(options: ModelOptions): Model {
  const isDemo = options.api === "demo";
  const baseUrl = isDemo ? DEMO : (options.baseUrl ?? OPENAI);
  const problem = isDemo ? null : addressProblem(baseUrl);
  if (problem) throw new TypeError(`baseUrl ${problem}`);
  return {
    provider: options.provider ?? (isDemo ? "demo" : "openai"),
    api: options.api,
    id: options.id,
    baseUrl,
    apiKey: options.apiKey?.trim() || null,
    window: options.window ?? null,
    quirks: quirksOf(baseUrl, options.id, options.quirks),
    price: options.price ?? (isDemo ? FREE : null),
    delayMs: options.delayMs ?? DEMO_DELAY_MS,
  };
}

/** The model a `provider/model` name means, with keys and addresses from the environment. */
export function resolveModel(name: string, env: Env): ResolvedModel {
  const slash = name.indexOf("/");
  const [provider, id] = [name.slice(0, slash), name.slice(slash + 1).trim()];
  if (slash < 1 || id === "") return no(`"${name}" names no model: type provider/model, such as ${EXAMPLES}`);
  switch (provider) {
    case "demo":
      return resolveDemo(id, env);
    case "openai":
    case "openai-chat":
      return resolveOpenai(name, id, env);
    case "ollama":
      return resolveAt(set(env, "OLLAMA_BASE_URL") ?? OLLAMA, "OLLAMA_BASE_URL", {
        provider: "ollama",
        id,
        apiKey: set(env, "OLLAMA_API_KEY"),
        price: FREE,
      });
    default:
      return no(`there is no provider "${provider}": type one such as ${EXAMPLES}`);
  }
}

/** Which model to start with when nobody chose one, and why that one. */
export function defaultModelName(env: Env): { name: string; why: string } {
  const chosen = set(env, "LONGHAND_MODEL");
  if (chosen) return { name: chosen, why: "LONGHAND_MODEL says so" };
  const id = set(env, "OPENAI_MODEL");
  const found = ["OPENAI_API_KEY", "OPENAI_BASE_URL"].find((key) => set(env, key));
  if (found && id) return { name: `openai/${id}`, why: `${found} and OPENAI_MODEL are set` };
  if (!found) return { name: "demo/demo", why: "no model is configured, so the offline demo answers" };
  // At an address that is not OpenAI's, nobody but its owner knows which models there are.
  if (!set(env, "OPENAI_BASE_URL"))
    return { name: `openai/${DEFAULT_OPENAI_ID}`, why: "OPENAI_API_KEY is set" };
  return {
    name: "demo/demo",
    why: "OPENAI_BASE_URL is set, but not which model to ask there: set LONGHAND_MODEL=openai/<its id>",
  };
}

function resolveDemo(id: string, env: Env): ResolvedModel {
  if (id !== "demo") return no(`there is no demo model "${id}": type demo/demo`);
  const delay = set(env, "LONGHAND_DEMO_DELAY_MS");
  if (delay === null) return { ok: true, model: model({ api: "demo", id }) };
  if (!/^\d+$/.test(delay))
    return no(`LONGHAND_DEMO_DELAY_MS is "${delay}": set it to milliseconds, such as 15`);
  return { ok: true, model: model({ api: "demo", id, delayMs: Number(delay) }) };
}

function resolveOpenai(name: string, id: string, env: Env): ResolvedModel {
  const [baseUrl, apiKey] = [set(env, "OPENAI_BASE_URL"), set(env, "OPENAI_API_KEY")];
  if (!baseUrl && !apiKey) {
    return no(
      `${name} needs OPENAI_API_KEY=<your key>, or OPENAI_BASE_URL=http://127.0.0.1:8080/v1 for a server of your own`,
    );
  }
  return resolveAt(baseUrl ?? OPENAI, "OPENAI_BASE_URL", { provider: "openai", id, apiKey });
}

function resolveAt(
  baseUrl: string,
  variable: string,
  options: { provider: string; id: string; apiKey: string | null; price?: Price },
): ResolvedModel {
  const problem = addressProblem(baseUrl);
  if (problem) return no(`${variable} ${problem}`);
  return { ok: true, model: model({ api: "openai-chat", baseUrl, ...options }) };
}

function addressProblem(address: string): string | null {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^https?:$/.test(url.protocol))
    return "must be an http(s) address such as http://127.0.0.1:11434/v1";
  return url.username || url.password ? "must not hold a name or password: set the key apart from it" : null;
}

/** An empty variable is not set. */
function set(env: Env, key: string): string | null {
  return env[key]?.trim() || null;
}

function no(why: string): ResolvedModel {
  return { ok: false, why };
}
