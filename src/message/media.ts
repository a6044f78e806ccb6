import { type AudioMime, firstBytes, type ImageMime, sniffAudio, sniffImage } from "./sniff.js";

/** What a media string is, judged by its shape alone. */
export type MediaString =
  | { form: "url"; url: string }
  | { form: "data"; mime: string; base64: string }
  | { form: "file"; path: string }
  | { form: "base64"; base64: string }
  | { form: "invalid"; why: string };

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const DATA_URL = /^data:([^;,]*)((?:;[^;,]*)*),/i;

/** Tell a URL, a `data:` URL, a `file:` path and bare base64 apart. */
export function readMediaString(text: string): MediaString {
  if (/^https?:\/\//i.test(text)) return { form: "url", url: text };
  if (/^file:/i.test(text)) return { form: "file", path: filePath(text) };
  const data = DATA_URL.exec(text);
  if (data) {
    if (!/;base64$/i.test(data[2] ?? "")) return { form: "invalid", why: "a data: URL must be base64-encoded" };
    const base64 = compact(text.slice(data[0].length));
    if (!isBase64(base64)) return { form: "invalid", why: "the data: URL does not hold valid base64" };
    return { form: "data", mime: (data[1] ?? "").toLowerCase(), base64 };
  }
  const base64 = compact(text);
  if (!isBase64(base64)) {
    return { form: "invalid", why: "expected an http(s) URL, a data: URL or base64" };
  }
  return { form: "base64", base64 };
}

/** `[base64, mime]` of one image; a URL passes through as `[url, ""]`. */
export function imageToBase64(image: string | Uint8Array): [string, string] {
  if (typeof image !== "string") return [encode(bytesOf(image)), imageMime(bytesOf(image))];
  const media = readMediaString(image);
  switch (media.form) {
    case "url":
      return [media.url, ""];
    case "data":
      return [media.base64, sniffImage(decodeHead(media.base64)) ?? (media.mime || imageMime(decodeHead(media.base64)))];
    case "base64":
      return [media.base64, imageMime(decodeHead(media.base64))];
    case "file": {
      const bytes = readFile(media.path);
      return [encode(bytes), imageMime(bytes)];
    }
    case "invalid":
      throw new TypeError(`image: ${media.why}`);
  }
}

/** `[base64, mime]` of one clip. Audio we do not recognise is called audio/mpeg. */
export function audioToBase64(audio: string | Uint8Array): [string, string] {
  if (typeof audio !== "string") return [encode(bytesOf(audio)), audioMime(bytesOf(audio))];
  const media = readMediaString(audio);
  switch (media.form) {
    case "url":
      throw new TypeError("audio: a URL is not taken here; give base64, a data: URL or a file: path");
    case "data":
      return [media.base64, sniffAudio(decodeHead(media.base64)) ?? (media.mime || "audio/mpeg")];
    case "base64":
      return [media.base64, audioMime(decodeHead(media.base64))];
    case "file": {
      const bytes = readFile(media.path);
      return [encode(bytes), audioMime(bytes)];
    }
    case "invalid":
      throw new TypeError(`audio: ${media.why}`);
  }
}

/** Bytes from disk, without making a browser bundle carry a file system. */
export function readFile(path: string): Uint8Array {
  return new Uint8Array(process.getBuiltinModule("node:fs").readFileSync(path));
}

function imageMime(bytes: Uint8Array): ImageMime {
  const mime = sniffImage(bytes);
  if (mime) return mime;
  throw new TypeError(`image: not JPEG, PNG, GIF or WEBP; it starts with ${firstBytes(bytes)}`);
}

function audioMime(bytes: Uint8Array): AudioMime {
  return sniffAudio(bytes) ?? "audio/mpeg";
}

function bytesOf(value: Uint8Array): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError("expected bytes; read a Blob first, with fromBlob(blob)");
}

/** Enough decoded bytes to recognise a format. */
function decodeHead(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64.slice(0, 64)), (char) => char.charCodeAt(0));
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && BASE64.test(text);
}

function compact(text: string): string {
  return /[\s]/.test(text) ? text.replace(/\s+/g, "") : text;
}

function filePath(text: string): string {
  if (!/^file:\/\//i.test(text)) return text.slice("file:".length);
  return process.getBuiltinModule("node:url").fileURLToPath(text);
}
