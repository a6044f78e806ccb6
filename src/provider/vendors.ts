import type { Api } from "./codec.js";

export type Env = Readonly<Record<string, string | undefined>>;

/** A variable and its value; null when it is empty or not set. */
export type Setting = { name: string; value: string | null };

/** Who offers an API: under which name, where, and which variables tell of a key or another address. */
export type Vendor = {
  provider: string;
  /** The API at the vendor's own address, and the one that is spoken at any other. */
  api: Api;
  elsewhere: Api;
  baseUrl: string;
  /** What the environment says of it. Every variable is spelled out, so that one can search for it. */
  settings(env: Env): { apiKey: Setting; baseUrl: Setting; model: Setting };
  /** What the address of a server of one's own looks like. */
  ownServer: string;
  /** What to do where such a server names no model. */
  hint: string;
  /** Cheap, quick, and open to every key. */
  usualId: string;
};

export const OPENAI: Vendor = {
  provider: "openai",
  api: "openai-responses",
  elsewhere: "openai-chat",
  baseUrl: "https://api.openai.com/v1",
  settings: (env) => ({
    apiKey: setting(env, "OPENAI_API_KEY"),
    baseUrl: setting(env, "OPENAI_BASE_URL"),
    model: setting(env, "OPENAI_MODEL"),
  }),
  ownServer: "http://127.0.0.1:8080/v1",
  hint: "Name one: LONGHAND_MODEL=openai/<its id>",
  usualId: "gpt-4.1-mini",
};

export const ANTHROPIC: Vendor = {
  provider: "anthropic",
  api: "anthropic",
  elsewhere: "anthropic",
  baseUrl: "https://api.anthropic.com",
  settings: (env) => ({
    apiKey: setting(env, "ANTHROPIC_API_KEY"),
    baseUrl: setting(env, "ANTHROPIC_BASE_URL"),
    model: setting(env, "ANTHROPIC_MODEL"),
  }),
  ownServer: "http://127.0.0.1:8080",
  hint: "Name one: LONGHAND_MODEL=anthropic/<its id>",
  usualId: "claude-haiku-5-5",
};

export const GOOGLE: Vendor = {
  provider: "google",
  api: "gemini",
  elsewhere: "gemini",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  settings: (env) => ({
    apiKey: setting(env, "GEMINI_API_KEY"),
    baseUrl: setting(env, "GEMINI_BASE_URL"),
    model: setting(env, "GEMINI_MODEL"),
  }),
  ownServer: "http://127.0.0.1:8080/v1beta",
  hint: "Name one: LONGHAND_MODEL=google/<its id>",
  // Google keeps this name on its newest quick model, while it withdraws the numbered ones after a year.
  usualId: "gemini-flash-latest",
};

/** On one's own machine: it needs no key, and which models it has is its owner's affair. */
export const OLLAMA: Vendor = {
  provider: "ollama",
  api: "openai-chat",
  elsewhere: "openai-chat",
  baseUrl: "http://127.0.0.1:11434/v1",
  settings: (env) => ({
    apiKey: setting(env, "OLLAMA_API_KEY"),
    baseUrl: setting(env, "OLLAMA_BASE_URL"),
    model: setting(env, "OLLAMA_MODEL"),
  }),
  ownServer: "http://127.0.0.1:11434/v1",
  hint: "Start it with `ollama serve`, or set OLLAMA_BASE_URL to where it is",
  usualId: "llama3.2",
};

function setting(env: Env, name: string): Setting {
  return { name, value: variable(env, name) };
}

/** The value of a variable; null when it is empty or not set. */
export function variable(env: Env, name: string): string | null {
  return env[name]?.trim() || null;
}

/** In the order in which one is taken when nobody chose a model. */
export const VENDORS: readonly Vendor[] = [OPENAI, ANTHROPIC, GOOGLE];

/** Who offers an API when nothing else is said. */
export function vendorOf(api: Api): Vendor {
  return VENDORS.find((vendor) => vendor.api === api) ?? OPENAI;
}
