import type { ListedPrice, ModelListing } from "../message/index.js";
import { bedrockDefault } from "./bedrockSettings.js";
import type { Fetch, Model, ModelFacts, Price, Rates } from "./codec.js";
import { defaultModelName, type ResolvedModel, resolveModel } from "./model.js";
import { builtInFacts, mergedFacts, UNKNOWN_FACTS } from "./modelFacts.js";
import type { OwnFacts } from "./modelFile.js";
import { askModels, type ModelServer, type ToldModels } from "./modelServer.js";
import { ratesAt } from "./price.js";
import { priceList } from "./priceList.js";
import { type Env, OLLAMA, VENDORS, type Vendor } from "./vendors.js";

export type CatalogueOptions = {
  env: Env;
  now: () => number;
  /** What the owner says about models: it goes before all else. */
  own?: OwnFacts;
  /** In place of the network, for asking servers which models they have. */
  fetch?: Fetch;
  /** How long a server may take to list its models. */
  askMs?: number;
};

/** A model to start with when nobody chose one, and why that one. */
export type ChosenModel = { name: string; why: string };

/** The models that can be used now, with all that is known of each. */
export type Catalogue = {
  /** The model a `provider/model` name means, with its price, its window and what it takes. */
  resolve(name: string): Promise<ResolvedModel>;
  chosen(): Promise<ChosenModel>;
  /** What can be used, the chosen model first, and what is missing to use the rest. */
  list(chosen: ChosenModel | null): Promise<ModelListing[]>;
};

const ASK_MS = 2000;
const REMEMBER_MS = 60_000;
const REMEMBER_FAILURE_MS = 10_000;

/**
 * What is known of a model comes from four places; later ones go before earlier ones: the price list, what is built in,
 * what its server says of it (where that is not the vendor's own), and what the owner says.
 */
export function catalogue({ env, now, own = () => ({}), ...options }: CatalogueOptions): Catalogue {
  const { fetch = globalThis.fetch, askMs = ASK_MS } = options;
  const told = remembering(now, (server) => askModels(server, fetch, AbortSignal.timeout(askMs)));

  const factsOf = async (model: Model): Promise<ModelFacts> => {
    const { baseUrl, id, provider } = model;
    const listed = baseUrl.startsWith("https:") ? (await priceList())(baseUrl, id) : {};
    const said = isAskable(model) ? await told(model) : null;
    const one = said?.ok ? said.models.find((known) => known.id === id) : undefined;
    // The list rounds windows, and ours are exact; ours is the price of what the list does not know yet.
    const builtIn = { ...builtInFacts(model), price: null };
    const price = { price: model.price };
    return mergedFacts([price, listed, builtIn, one?.facts ?? {}, own(`${provider}/${id}`)]);
  };

  const resolve: Catalogue["resolve"] = async (name) => {
    const found = resolveModel(name, env);
    return found.ok ? { ok: true, model: withFacts(found.model, await factsOf(found.model)) } : found;
  };

  const chosen: Catalogue["chosen"] = async () => {
    const usual = defaultModelName(env);
    if (usual.name !== "demo/demo" || env.LONGHAND_MODEL?.trim()) return usual;
    for (const vendor of [...VENDORS, OLLAMA]) {
      const { apiKey, baseUrl, model } = vendor.settings(env);
      if (model.value && vendor === OLLAMA)
        return { name: `${vendor.provider}/${model.value}`, why: `${model.name} is set` };
      const server = baseUrl.value ? serverOf(vendor, baseUrl.value, apiKey.value) : null;
      const said = server && (await told(server));
      const first = said?.ok ? said.models[0] : undefined;
      const why = `${baseUrl.name} is set, and it is the first model there; LONGHAND_MODEL names another`;
      if (first) return { name: `${vendor.provider}/${first.id}`, why };
    }
    return usual;
  };

  const listing = async (name: string, note: string | null): Promise<ModelListing> => {
    const found = resolveModel(name, env);
    const facts = found.ok ? await factsOf(found.model) : UNKNOWN_FACTS;
    return listedModel(name, { available: found.ok, note: found.ok ? note : found.why, facts, at: now() });
  };

  const list: Catalogue["list"] = async (start) => {
    const offers = await Promise.all([...VENDORS, OLLAMA].map((vendor) => offersOf(vendor, env, told)));
    const rest = [...offers.flat(), bedrockOffer(env), DEMO].filter(({ name }) => name !== start?.name);
    const listings = rest.map(({ name, missing }) =>
      missing === null ? listing(name, null) : listedModel(name, { ...UNUSABLE, note: missing, at: now() }),
    );
    const first = start ? [{ ...(await listing(start.name, start.why)), default: true }] : [];
    return [...first, ...(await Promise.all(listings))];
  };

  return { resolve, chosen, list };
}

/** A name that can be given, or what is missing to give it. */
type Offer = { name: string; missing: string | null };
const DEMO: Offer = { name: "demo/demo", missing: null };
const UNUSABLE = { available: false, facts: UNKNOWN_FACTS };

function bedrockOffer(env: Env): Offer {
  const name = bedrockDefault(env)?.name ?? "bedrock/<model>";
  return offer(name, env);
}

function offer(name: string, env: Env): Offer {
  const found = resolveModel(name, env);
  return { name, missing: found.ok ? null : found.why };
}

/** What a vendor, or a server in its place, has to offer as things are set. */
async function offersOf(vendor: Vendor, env: Env, told: Told): Promise<Offer[]> {
  const { provider, usualId } = vendor;
  const { apiKey, baseUrl, model } = vendor.settings(env);
  const usual = `${provider}/${model.value ?? usualId}`;
  const address = baseUrl.value ?? (vendor === OLLAMA ? OLLAMA.baseUrl : null);
  const server = address === null ? null : serverOf(vendor, address, apiKey.value);
  if (!server) return [offer(usual, env)];
  const said = await told(server);
  if (said.ok) return said.models.map(({ id }) => ({ name: `${provider}/${id}`, missing: null }));
  if (model.value) return [{ name: usual, missing: null }];
  return [{ name: `${provider}/<model>`, missing: `${said.why}. ${vendor.hint}` }];
}

/** A server that is not the vendor's own; null where the address is none. */
function serverOf(vendor: Vendor, baseUrl: string, apiKey: string | null): ModelServer | null {
  return URL.canParse(baseUrl) ? { provider: vendor.provider, api: vendor.elsewhere, baseUrl, apiKey } : null;
}

const ASKABLE: readonly string[] = ["openai-chat", "openai-responses", "anthropic", "gemini"];

/** At its own address a vendor is not asked: the price list knows its models. */
function isAskable({ api, baseUrl }: Model): boolean {
  return ASKABLE.includes(api) && !VENDORS.some((vendor) => vendor.baseUrl === baseUrl);
}

type Told = (server: ModelServer) => Promise<ToldModels>;

/** Asks a server once in a while, however many want to know. */
function remembering(now: () => number, ask: Told): Told {
  const answers = new Map<string, { until: number; answer: Promise<ToldModels> }>();
  return (server) => {
    const key = JSON.stringify([server.provider, server.api, server.baseUrl, server.apiKey]);
    const known = answers.get(key);
    if (known && now() < known.until) return known.answer;
    const answer = ask(server);
    const remembered = { until: now() + REMEMBER_MS, answer };
    answers.set(key, remembered);
    void answer.then(({ ok }) => {
      if (!ok) remembered.until = now() + REMEMBER_FAILURE_MS;
    });
    return answer;
  };
}

function withFacts(model: Model, { window, maxOutput, price, images, audio }: ModelFacts): Model {
  const quirks = {
    ...model.quirks,
    images: images ?? model.quirks.images,
    audio: audio ?? model.quirks.audio,
  };
  return { ...model, window, maxOutput, price, quirks };
}

export type Known = Pick<ModelListing, "available" | "note"> & { facts: ModelFacts; at: number };

/** A model as the API lists it. */
export function listedModel(name: string, { available, note, facts, at }: Known): ModelListing {
  const { maxOutput, price, ...rest } = facts;
  const listedPrice = price && listedPriceOf(price, at);
  return { name, default: false, available, note, ...rest, max_output: maxOutput, price: listedPrice };
}

function listedPriceOf(price: Price, at: number): ListedPrice {
  const tokens = [...new Set([price, ...(price.when ?? []).map((other) => other.price)].flatMap(tiersOf))];
  const base = listedRates(ratesAt(price, at, 0));
  const above = tokens
    .sort((a, b) => a - b)
    .map((from) => ({ tokens: from, ...listedRates(ratesAt(price, at, from + 1)) }));
  return { ...base, above: above.filter((tier) => tier.input !== base.input || tier.output !== base.output) };
}

function tiersOf({ above = [] }: Price): number[] {
  return above.map(({ tokens }) => tokens);
}

function listedRates({ input, output, cacheRead, cacheWrite }: Rates) {
  return { input, output, cache_read: cacheRead, cache_write: cacheWrite };
}
