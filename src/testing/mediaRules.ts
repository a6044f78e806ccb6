import { isRecord } from "../provider/json.js";

type Found = { kind: "image" | "audio"; base64: string };
type Limits = {
  /** Characters of base64 of one picture. */
  base64: number;
  edge: number;
  many: { over: number; edge: number };
  count: number;
  body: number;
};

const NONE = Number.POSITIVE_INFINITY;
const MB = 1_000_000;
const ANY = { base64: NONE, edge: NONE, many: { over: NONE, edge: NONE }, count: NONE, body: NONE };

/** What the vendors say a request may hold of pictures. */
const LIMITS: Readonly<Record<"anthropic" | "openai" | "gemini" | "bedrock", Limits>> = {
  anthropic: {
    base64: 5 * 1024 * 1024,
    edge: 8000,
    many: { over: 20, edge: 2000 },
    count: 100,
    body: 32 * MB,
  },
  openai: { ...ANY, count: 500, body: 50 * MB },
  gemini: { ...ANY, count: 3600, body: 20 * MB },
  bedrock: { ...ANY, base64: 5 * MB, edge: 8000, count: 20, body: 20 * MB },
};

/** What a vendor would refuse a request for, of the pictures and sounds in it: their number, their sizes, all together. */
export function mediaRules(vendor: keyof typeof LIMITS, request: unknown, body: string): string[] {
  const limits = LIMITS[vendor];
  const pictures = mediaIn(request).filter(({ kind }) => kind === "image");
  const edge = pictures.length > limits.many.over ? limits.many.edge : limits.edge;
  const broken = pictures.flatMap(({ base64 }) => [
    ...(base64.length > limits.base64 ? [`image exceeds ${limits.base64} bytes: ${base64.length}`] : []),
    ...(longestEdge(base64) > edge ? [`image dimensions exceed max allowed size: ${edge} pixels`] : []),
  ]);
  if (pictures.length > limits.count) broken.push(`too many images: ${pictures.length} > ${limits.count}`);
  if (Buffer.byteLength(body) > limits.body) broken.push("request_too_large");
  return broken;
}

/** Every picture and sound in a request, however its API spells one. */
export function mediaIn(value: unknown): Found[] {
  if (Array.isArray(value)) return value.flatMap(mediaIn);
  if (!isRecord(value)) return [];
  const own = mediumOf(value);
  return own ? [own] : Object.values(value).flatMap(mediaIn);
}

function mediumOf(value: Record<string, unknown>): Found | null {
  const { source, inlineData, input_audio: sound, image_url: address, fileData } = value;
  if (value.type === "image" && isRecord(source)) return found("image", source.data);
  if (isRecord(value.image) && isRecord(value.image.source)) return found("image", value.image.source.bytes);
  if (isRecord(value.audio) && isRecord(value.audio.source)) return found("audio", value.audio.source.bytes);
  if (value.type === "image_url" && isRecord(address)) return found("image", ofDataUrl(address.url));
  if (value.type === "input_image") return found("image", ofDataUrl(address));
  if (value.type === "input_audio" && isRecord(sound)) return found("audio", sound.data);
  if (isRecord(inlineData))
    return found(String(inlineData.mimeType).startsWith("audio/") ? "audio" : "image", inlineData.data);
  return isRecord(fileData) ? found("image", "") : null;
}

function found(kind: Found["kind"], base64: unknown): Found {
  return { kind, base64: typeof base64 === "string" ? base64 : "" };
}

function ofDataUrl(url: unknown): string {
  return /^data:/.test(String(url)) ? String(url).slice(String(url).indexOf(",") + 1) : "";
}

/** Of a PNG; other pictures are not measured here. */
function longestEdge(base64: string): number {
  const head = Buffer.from(base64.slice(0, 32), "base64");
  if (head.length < 24 || head.toString("latin1", 1, 4) !== "PNG") return 0;
  return Math.max(head.readUInt32BE(16), head.readUInt32BE(20));
}
