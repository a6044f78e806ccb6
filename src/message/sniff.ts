/** What the first bytes of a file say it is. The declared type of an upload is only a claim. */

const ascii = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, to));

export type ImageMime = "image/jpeg" | "image/png" | "image/gif" | "image/webp";
export type AudioMime = "audio/mpeg" | "audio/ogg" | "audio/flac" | "audio/wav";

/** The image type, or null when the bytes are none we know. */
export function sniffImage(bytes: Uint8Array): ImageMime | null {
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return "image/jpeg";
  if (bytes[0] === 0x89 && ascii(bytes, 1, 8) === "PNG\r\n\x1a\n") return "image/png";
  const head = ascii(bytes, 0, 6);
  if (head === "GIF87a" || head === "GIF89a") return "image/gif";
  if (ascii(bytes, 0, 4) === "RIFF" && ascii(bytes, 8, 12) === "WEBP") return "image/webp";
  return null;
}

/** The audio type, or null when the bytes are none we know. */
export function sniffAudio(bytes: Uint8Array): AudioMime | null {
  if (ascii(bytes, 0, 3) === "ID3") return "audio/mpeg";
  if (bytes[0] === 0xff && (bytes[1] === 0xfb || bytes[1] === 0xf3 || bytes[1] === 0xf2)) return "audio/mpeg";
  const head = ascii(bytes, 0, 4);
  if (head === "OggS") return "audio/ogg";
  if (head === "fLaC") return "audio/flac";
  if (head === "RIFF" && ascii(bytes, 8, 12) === "WAVE") return "audio/wav";
  return null;
}

/**
 * Whether a file is something to look at or to listen to, by its bytes where they say it, else by the type it was given.
 * What is called text stays text: any letters may begin it.
 */
export function mediaKind(declared: string, bytes: Uint8Array): "image" | "audio" | null {
  const mime = declared.toLowerCase();
  if (mime.startsWith("text/")) return null;
  if (sniffImage(bytes)) return "image";
  if (sniffAudio(bytes)) return "audio";
  if (mime.startsWith("image/")) return "image";
  return mime.startsWith("audio/") ? "audio" : null;
}

/** The first bytes in hex, for an error message a person can act on. */
export function firstBytes(bytes: Uint8Array): string {
  if (bytes.length === 0) return "nothing (0 bytes)";
  return [...bytes.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
}
