import { firstBytes, sniffAudio, sniffImage } from "./sniff.js";

/** What a media string is, judged by its shape alone. */
export type MediaString =
  | { form: "url"; url: string }
  | { form: "data"; mime: string; base64: string }
  | { form: "file"; path: string }
  | { form: "base64"; base64: string }
  | { form: "invalid"; why: string };

/** Looked for, instead of the whole being matched: a search needs no way back through ten million characters. */
const NOT_BASE64 = /[^A-Za-z0-9+/]/;
/** A `data:` URL says what it holds before its first comma; nobody needs more room for that. */
const MAX_DATA_HEADER = 1024;

/** Tell a URL, a `data:` URL, a `file:` path and bare base64 apart. Never throws. */
export function readMediaString(text: string): MediaString {
  if (/^https?:\/\//i.test(text)) return { form: "url", url: text };
  if (/^file:/i.test(text)) return readFileString(text);
  if (/^data:/i.test(text)) return readDataUrl(text);
  const base64 = compact(text);
  if (!isBase64(base64)) return { form: "invalid", why: "neither a URL, a data: URL nor base64" };
  return { form: "base64", base64 };
}

/** `[base64, mime]` of one image; a URL passes through as `[url, ""]`. */
export function imageToBase64(image: string | Uint8Array): [string, string] {
  if (typeof image !== "string") return ofImageBytes(bytesOf(image));
  const media = readMediaString(image);
  switch (media.form) {
    case "url":
      return [media.url, ""];
    case "data":
      return [media.base64, imageMime(decodeHead(media.base64), media.mime)];
    case "base64":
      return [media.base64, imageMime(decodeHead(media.base64))];
    case "file":
      return ofImageBytes(readFile(media.path));
    case "invalid":
      throw new TypeError(`image: ${media.why}`);
  }
}

/** `[base64, mime]` of one clip. Audio we do not recognise is called audio/mpeg. */
export function audioToBase64(audio: string | Uint8Array): [string, string] {
  if (typeof audio !== "string") return ofAudioBytes(bytesOf(audio));
  const media = readMediaString(audio);
  switch (media.form) {
    case "url":
      throw new TypeError("audio: a URL is not taken here; give base64, a data: URL or a file: path");
    case "data":
      return [media.base64, audioMime(decodeHead(media.base64), media.mime)];
    case "base64":
      return [media.base64, audioMime(decodeHead(media.base64))];
    case "file":
      return ofAudioBytes(readFile(media.path));
    case "invalid":
      throw new TypeError(`audio: ${media.why}`);
  }
}

/**
 * Would anybody's URL reader take this for a `file:` path? They ignore case, and white space and control
 * characters in front or in between; so does this.
 */
export function pointsAtFile(text: string): boolean {
  const start = /^[\s\p{Cc}\p{Cf}]*(.{0,64})/su.exec(text)?.[1] ?? "";
  return /^file:/i.test(start.replace(/[\s\p{Cc}\p{Cf}]+/gu, ""));
}

/** Why these image bytes cannot be used, or null when they can. `declared` is the type a `data:` URL claims. */
export function imageBytesProblem(bytes: Uint8Array, declared = ""): string | null {
  if (sniffImage(bytes) || /^image\/[\w.+-]+$/.test(declared)) return null;
  return `not JPEG, PNG, GIF or WEBP; it starts with ${firstBytes(bytes)}`;
}

/** Bytes from disk, without making a browser bundle carry a file system. */
export function readFile(path: string): Uint8Array {
  return new Uint8Array(process.getBuiltinModule("node:fs").readFileSync(path));
}

/** Base64 of bytes, where there is a Buffer and where there is none. */
export function toBase64(bytes: Uint8Array): string {
  if (typeof Buffer !== "undefined") {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  }
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  }
  return btoa(binary);
}

/** The bytes of media that hold them; null for an address, a file, or what is neither. */
export function toBytes(media: string | Uint8Array): Uint8Array | null {
  if (typeof media !== "string") return media;
  const read = readMediaString(media);
  if (read.form !== "data" && read.form !== "base64") return null;
  return Uint8Array.from(atob(read.base64), (char) => char.charCodeAt(0));
}

/** Enough decoded bytes to recognise a format. */
export function decodeHead(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64.slice(0, 64)), (char) => char.charCodeAt(0));
}

/** Padded base64 without white space, of at least one byte. */
export function isBase64(text: string): boolean {
  if (text.length === 0 || text.length % 4 !== 0) return false;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return !NOT_BASE64.test(text.slice(0, text.length - padding));
}

function readFileString(text: string): MediaString {
  if (!/^file:\/\//i.test(text)) return { form: "file", path: text.slice("file:".length) };
  try {
    return { form: "file", path: process.getBuiltinModule("node:url").fileURLToPath(text) };
  } catch {
    return { form: "invalid", why: "a file: URL that is not of this machine" };
  }
}

function readDataUrl(text: string): MediaString {
  const comma = text.slice(0, MAX_DATA_HEADER).indexOf(",");
  const header = text.slice("data:".length, Math.max(comma, "data:".length));
  const [mime = "", ...parameters] = header.toLowerCase().split(";");
  if (parameters.at(-1)?.trim() !== "base64") {
    return { form: "invalid", why: "a data: URL that is not base64-encoded" };
  }
  const base64 = compact(text.slice(comma + 1));
  if (!isBase64(base64)) return { form: "invalid", why: "a data: URL that does not hold valid base64" };
  return { form: "data", mime: mime.trim(), base64 };
}

function ofImageBytes(bytes: Uint8Array): [string, string] {
  return [toBase64(bytes), imageMime(bytes)];
}

function ofAudioBytes(bytes: Uint8Array): [string, string] {
  return [toBase64(bytes), audioMime(bytes)];
}

/** The bytes decide; what a `data:` URL declares counts only for image formats we cannot tell by their bytes. */
function imageMime(bytes: Uint8Array, declared = ""): string {
  const problem = imageBytesProblem(bytes, declared);
  if (problem) throw new TypeError(`image: ${problem}`);
  return sniffImage(bytes) ?? declared;
}

function audioMime(bytes: Uint8Array, declared = ""): string {
  return sniffAudio(bytes) ?? (declared.startsWith("audio/") ? declared : "audio/mpeg");
}

function bytesOf(value: Uint8Array): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError("expected bytes; read a Blob first, with fromBlob(blob)");
}

/** Base64 as it is sent: without the line breaks it may have come with. A space within a line is no base64. */
function compact(text: string): string {
  if (!/\s/.test(text)) return text;
  return text
    .split(/[\r\n]/)
    .map((line) => line.trim())
    .join("");
}
