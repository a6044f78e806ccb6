import { isAnthropicHost } from "./anthropicModel.js";
import type { Model } from "./codec.js";
import { generationOf } from "./geminiParams.js";
import { hostOf, OPENAI_HOST } from "./host.js";

/** What one API takes of pictures, as its maker says. Bytes are those of the file, before base64. */
export type ImageLimits = {
  types: readonly string[];
  /** Addresses it fetches by itself. A server in one's own network must not be sent after a stranger's address. */
  addresses: "none" | "https" | "any";
  bytes: number;
  /** Pixels, in width and in height. */
  edge: number;
  /** With more than so many in one request, each may have only this edge. */
  many: { over: number; edge: number } | null;
  /** In one request. */
  count: number;
};

export type AudioLimits = { types: readonly string[]; bytes: number };

/** What a model can be given besides text; null: nothing of the kind. */
export type MediaLimits = {
  image: ImageLimits | null;
  audio: AudioLimits | null;
  /** Bytes of base64 in one request, of all media together. What the API allows for the whole body, less room for text. */
  total: number;
};

const MIB = 1024 * 1024;
const FOUR_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
const WAV = ["audio/wav", "audio/x-wav", "audio/wave"] as const;
const MP3 = ["audio/mpeg", "audio/mp3"] as const;

/** 5 MiB of base64, 8000 pixels, 100 pictures, 32 MB of body; over 20 pictures, 2000 pixels each. */
const ANTHROPIC: MediaLimits = {
  image: {
    types: FOUR_TYPES,
    addresses: "https",
    bytes: 3.75 * MIB,
    edge: 8000,
    many: { over: 20, edge: 2000 },
    count: 100,
  },
  audio: null,
  total: 24 * MIB,
};

/** 50 MB of body, 500 pictures. It makes them smaller itself and names no size for one: these two are ours. */
const OPENAI: MediaLimits = {
  image: { types: FOUR_TYPES, addresses: "any", bytes: 20 * MIB, edge: 16_000, many: null, count: 500 },
  audio: { types: [...WAV, ...MP3], bytes: 20 * MIB },
  total: 40 * MIB,
};

/** 20 MB of body, 3600 pictures, no GIF among them; the edge is ours. */
const GEMINI: MediaLimits = {
  image: {
    types: ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
    addresses: "any",
    bytes: 7 * MIB,
    edge: 16_000,
    many: null,
    count: 3600,
  },
  audio: {
    types: [...WAV, ...MP3, "audio/ogg", "audio/flac", "audio/aac", "audio/aiff"],
    bytes: 11 * MIB,
  },
  total: 15 * MIB,
};

/** 20 pictures of 3.75 MB and 8000 pixels; it fetches nothing. Which models hear, their quirks say. */
const BEDROCK: MediaLimits = {
  image: { types: FOUR_TYPES, addresses: "none", bytes: 3_750_000, edge: 8000, many: null, count: 20 },
  audio: { types: [...WAV, ...MP3, "audio/ogg", "audio/flac", "audio/aac"], bytes: 11 * MIB },
  total: 15 * MIB,
};

/** Servers that imitate an API promise nothing: what all of the usual ones take. */
const COMPATIBLE: MediaLimits = {
  image: { types: FOUR_TYPES, addresses: "none", bytes: 10 * MIB, edge: 8000, many: null, count: 100 },
  audio: { types: [...WAV, ...MP3], bytes: 10 * MIB },
  total: 15 * MIB,
};

type Differs = { image?: Partial<ImageLimits>; audio?: Partial<AudioLimits>; total?: number };

/** Servers known by their address that say otherwise. */
const BY_HOST: readonly { host: RegExp; differs: Differs }[] = [
  { host: /(^|\.)openrouter\.ai$/, differs: { image: { addresses: "any" } } },
  { host: /(^|\.)mistral\.ai$/, differs: { image: { addresses: "any", count: 8 } } },
  { host: /(^|\.)groq\.com$/, differs: { image: { addresses: "any", bytes: 3 * MIB, count: 5 } } },
  { host: /(^|\.)x\.ai$/, differs: { image: { addresses: "any", types: ["image/png", "image/jpeg"] } } },
];

/** Elsewhere it is somebody's own server, which may stand where no stranger should send it. */
const AT_GOOGLE = /(^|\.)googleapis\.com$/;
/** For what is no model API: whoever is behind it gets everything. */
const EVERYTHING: MediaLimits = {
  image: {
    types: [...FOUR_TYPES, "image/heic", "image/heif"],
    addresses: "any",
    bytes: Number.POSITIVE_INFINITY,
    edge: Number.POSITIVE_INFINITY,
    many: null,
    count: Number.POSITIVE_INFINITY,
  },
  audio: null,
  total: Number.POSITIVE_INFINITY,
};

/** What a picture may be so that every API takes it: this is made of each, once, when a turn first uses it. */
export const COMMON_IMAGE = {
  types: ["image/jpeg", "image/png"],
  bytes: 3_000_000,
  edge: 2000,
} as const;

/** What a model takes of pictures and sound. */
export function mediaLimitsOf(model: Model): MediaLimits {
  const { quirks } = model;
  const limits = limitsOfApi(model);
  const takesAll = model.api === "gemini";
  return {
    image: quirks.images || takesAll ? limits.image : null,
    audio: quirks.audio || takesAll ? limits.audio : null,
    total: limits.total,
  };
}

function limitsOfApi({ api, id, baseUrl }: Model): MediaLimits {
  switch (api) {
    case "anthropic":
      return isAnthropicHost(baseUrl) ? ANTHROPIC : withoutAddresses(ANTHROPIC);
    case "gemini":
      return generationOf(id).imageUrls && AT_GOOGLE.test(hostOf(baseUrl))
        ? GEMINI
        : withoutAddresses(GEMINI);
    case "bedrock":
      return BEDROCK;
    case "openai-chat":
      return limitsAt(baseUrl);
    case "openai-responses":
      return { ...limitsAt(baseUrl), audio: null };
    case "ai-sdk":
      return COMPATIBLE;
    case "demo":
    case "container":
      return EVERYTHING;
  }
}

function limitsAt(baseUrl: string): MediaLimits {
  const host = hostOf(baseUrl);
  if (OPENAI_HOST.test(host)) return OPENAI;
  const differs = BY_HOST.find((known) => known.host.test(host))?.differs ?? {};
  return {
    image: COMPATIBLE.image && { ...COMPATIBLE.image, ...differs.image },
    audio: COMPATIBLE.audio && { ...COMPATIBLE.audio, ...differs.audio },
    total: differs.total ?? COMPATIBLE.total,
  };
}

function withoutAddresses(limits: MediaLimits): MediaLimits {
  return { ...limits, image: limits.image && { ...limits.image, addresses: "none" } };
}

/** Can the model fetch a picture from this address itself? */
export function takesAddress({ image }: MediaLimits, url: string): boolean {
  if (!image || image.addresses === "none") return false;
  return image.addresses === "any" || /^https:/i.test(url);
}
