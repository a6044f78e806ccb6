import type { Api } from "./codec.js";

/** Who offers an API: under which name, where, and which variables tell of a key or another address. */
export type Vendor = {
  provider: string;
  /** The API at the vendor's own address, and the one that is spoken at any other. */
  api: Api;
  elsewhere: Api;
  baseUrl: string;
  /** As in `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`. */
  variables: string;
  /** What the address of a server of one's own looks like. */
  ownServer: string;
  /** Cheap, quick, and open to every key. */
  usualId: string;
};

export const OPENAI: Vendor = {
  provider: "openai",
  api: "openai-responses",
  elsewhere: "openai-chat",
  baseUrl: "https://api.openai.com/v1",
  variables: "OPENAI",
  ownServer: "http://127.0.0.1:8080/v1",
  usualId: "gpt-4.1-mini",
};

export const ANTHROPIC: Vendor = {
  provider: "anthropic",
  api: "anthropic",
  elsewhere: "anthropic",
  baseUrl: "https://api.anthropic.com",
  variables: "ANTHROPIC",
  ownServer: "http://127.0.0.1:8080",
  usualId: "claude-haiku-5-5",
};

export const GOOGLE: Vendor = {
  provider: "google",
  api: "gemini",
  elsewhere: "gemini",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  variables: "GEMINI",
  ownServer: "http://127.0.0.1:8080/v1beta",
  // Google keeps this name on its newest quick model, while it withdraws the numbered ones after a year.
  usualId: "gemini-flash-latest",
};

/** In the order in which one is taken when nobody chose a model. */
export const VENDORS: readonly Vendor[] = [OPENAI, ANTHROPIC, GOOGLE];

/** Who offers an API when nothing else is said. */
export function vendorOf(api: Api): Vendor {
  return VENDORS.find((vendor) => vendor.api === api) ?? OPENAI;
}
