import { anthropicQuirks } from "./anthropicModel.js";
import { bedrockQuirks } from "./bedrockModel.js";
import { bedrockDefault, bedrockPlace, bedrockSettings } from "./bedrockSettings.js";
import type { Api, Model, Price, Quirks, Signing } from "./codec.js";
import { builtInFacts } from "./modelFacts.js";
import { FREE } from "./price.js";
import { quirksOf } from "./quirks.js";
import {
  ANTHROPIC,
  type Env,
  GOOGLE,
  OLLAMA,
  OPENAI,
  VENDORS,
  type Vendor,
  variable,
  vendorOf,
} from "./vendors.js";

export type ModelOptions = {
  api: Api;
  id: string;
  /** With its version: `http://127.0.0.1:11434/v1`; Anthropic's without. The API's own when not given. */
  baseUrl?: string;
  apiKey?: string | null;
  /** In place of a key, for Bedrock. */
  signing?: Signing;
  /** As in `provider/model`; the API's usual provider when not given. */
  provider?: string;
  window?: number | null;
  maxOutput?: number | null;
  quirks?: Partial<Quirks>;
  price?: Price | null;
  delayMs?: number;
};

/** A model, or what to type so that there is one. */
export type ResolvedModel = { ok: true; model: Model } | { ok: false; why: string };

const DEMO = "demo:";
const DEMO_DELAY_MS = 15;
const EXAMPLES =
  "openai/gpt-4.1-mini, anthropic/claude-haiku-5-5, google/gemini-flash-latest, ollama/llama3.2 or demo/demo";

/** A model one can call. Throws on an address that is none: that is a mistake in code, not in a setting. */
export function model(options: ModelOptions): Model {
  const isDemo = options.api === "demo";
  const vendor = options.api === "bedrock" ? bedrockPlace(options.signing) : vendorOf(options.api);
  const baseUrl = isDemo ? DEMO : (options.baseUrl ?? vendor.baseUrl);
  const problem = isDemo ? null : addressProblem(baseUrl);
  if (problem) throw new TypeError(`baseUrl ${problem}`);
  const facts = builtInFacts({ api: options.api, baseUrl, id: options.id });
  return {
    provider: options.provider ?? (isDemo ? "demo" : vendor.provider),
    api: options.api,
    id: options.id,
    baseUrl,
    apiKey: options.apiKey?.trim() || null,
    ...(options.signing ? { signing: options.signing } : {}),
    window: options.window ?? facts.window,
    maxOutput: options.maxOutput ?? facts.maxOutput,
    quirks: quirksOf(baseUrl, options.id, {
      ...ownQuirks(options.api, baseUrl, options.id),
      ...options.quirks,
    }),
    price: options.price ?? (isDemo ? FREE : facts.price),
    delayMs: options.delayMs ?? DEMO_DELAY_MS,
  };
}

/** What an API's own file knows about its models. */
function ownQuirks(api: Api, baseUrl: string, id: string): Partial<Quirks> {
  if (api === "bedrock") return bedrockQuirks(id);
  return api === "anthropic" ? anthropicQuirks(baseUrl, id) : {};
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
      return resolveVendor(OPENAI, name, id, env);
    case "openai-chat":
    case "openai-responses":
      return resolveVendor({ ...OPENAI, api: provider, elsewhere: provider }, name, id, env);
    case "anthropic":
      return resolveVendor(ANTHROPIC, name, id, env);
    case "google":
    case "gemini":
      return resolveVendor(GOOGLE, name, id, env);
    case "bedrock": {
      const found = bedrockSettings(name, id, env);
      return found.ok
        ? resolveAt(found.baseUrl, found.addressFrom, { ...found.access, provider, api: provider, id })
        : found;
    }
    case "ollama":
      return resolveAt(OLLAMA.settings(env).baseUrl.value ?? OLLAMA.baseUrl, "OLLAMA_BASE_URL", {
        provider: "ollama",
        api: "openai-chat",
        id,
        apiKey: OLLAMA.settings(env).apiKey.value,
        price: FREE,
      });
    default:
      return no(`there is no provider "${provider}": type one such as ${EXAMPLES}`);
  }
}

/** Which model to start with when nobody chose one, and why that one. */
export function defaultModelName(env: Env): { name: string; why: string } {
  const chosen = variable(env, "LONGHAND_MODEL");
  if (chosen) return { name: chosen, why: "LONGHAND_MODEL says so" };
  const found = VENDORS.map((vendor) => modelFrom(vendor, env)).filter((one) => one !== null);
  const named = found.find((one) => one.name !== null);
  if (named?.name) return { name: named.name, why: named.why };
  const aws = found.length === 0 ? bedrockDefault(env) : null;
  if (aws) return aws;
  return { name: "demo/demo", why: found[0]?.why ?? "no model is configured, so the offline demo answers" };
}

/** What the variables of a vendor say: nothing, a model, or an address without one. */
function modelFrom(vendor: Vendor, env: Env): { name: string | null; why: string } | null {
  const { provider, usualId } = vendor;
  const { apiKey, baseUrl, model: chosen } = vendor.settings(env);
  const found = [apiKey, baseUrl].find((one) => one.value !== null);
  if (!found) return null;
  if (chosen.value)
    return { name: `${provider}/${chosen.value}`, why: `${found.name} and ${chosen.name} are set` };
  // At an address that is not the vendor's own, nobody but its owner knows which models there are.
  if (!baseUrl.value) return { name: `${provider}/${usualId}`, why: `${found.name} is set` };
  return {
    name: null,
    why: `${baseUrl.name} is set, but not which model to ask there: set LONGHAND_MODEL=${provider}/<its id>`,
  };
}

function resolveDemo(id: string, env: Env): ResolvedModel {
  if (id !== "demo") return no(`there is no demo model "${id}": type demo/demo`);
  const delay = variable(env, "LONGHAND_DEMO_DELAY_MS");
  if (delay === null) return { ok: true, model: model({ api: "demo", id }) };
  if (!/^\d+$/.test(delay))
    return no(`LONGHAND_DEMO_DELAY_MS is "${delay}": set it to milliseconds, such as 15`);
  return { ok: true, model: model({ api: "demo", id, delayMs: Number(delay) }) };
}

/** A key, or an address of one's own, is enough. */
function resolveVendor(vendor: Vendor, name: string, id: string, env: Env): ResolvedModel {
  const { apiKey, baseUrl } = vendor.settings(env);
  if (!baseUrl.value && !apiKey.value) {
    return no(
      `${name} needs ${apiKey.name}=<your key>, or ${baseUrl.name}=${vendor.ownServer} for a server of your own`,
    );
  }
  return resolveAt(baseUrl.value ?? vendor.baseUrl, baseUrl.name, {
    provider: vendor.provider,
    api: baseUrl.value ? vendor.elsewhere : vendor.api,
    id,
    apiKey: apiKey.value,
  });
}

function resolveAt(
  baseUrl: string,
  addressFrom: string,
  options: {
    provider: string;
    api: Api;
    id: string;
    apiKey: string | null;
    price?: Price;
    signing?: Signing;
  },
): ResolvedModel {
  const problem = addressProblem(baseUrl);
  if (problem) return no(`${addressFrom} ${problem}`);
  return { ok: true, model: model({ baseUrl, ...options }) };
}

function addressProblem(address: string): string | null {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^https?:$/.test(url.protocol))
    return "must be an http(s) address such as http://127.0.0.1:11434/v1";
  return url.username || url.password ? "must not hold a name or password: set the key apart from it" : null;
}

function no(why: string): ResolvedModel {
  return { ok: false, why };
}
