import { AudioContent, ImageContent } from "../message/index.js";
import type { MediaLimits } from "./mediaLimits.js";
import { type ImageSize, imageSize } from "./mediaSize.js";

/** An image by address, or media as base64 with its type, or one line in the place of what the model cannot take. */
export type MediaPart =
  | { type: "image"; url: string }
  | { type: "image_data"; mime: string; base64: string }
  | { type: "audio_data"; mime: string; base64: string }
  | { type: "text"; text: string };

/** What a model can take. `mime` is null for an image that is given by address. */
export type TakesMedia = {
  image(mime: string | null): boolean;
  audio(mime: string): boolean;
  /** How large each may be; without them, any size. */
  limits?: MediaLimits;
};

/** What limits say, as questions. */
export function takesMedia(limits: MediaLimits): TakesMedia {
  const { image, audio } = limits;
  return {
    image: (mime) =>
      image !== null && (mime === null ? image.addresses !== "none" : image.types.includes(mime)),
    audio: (mime) => audio?.types.includes(mime) ?? false,
    limits,
  };
}

/** One image or clip as a model takes it, else a line that says what was there. Never dropped, never throws. */
export function fitMedia(kind: "image" | "audio", media: string | Uint8Array, takes: TakesMedia): MediaPart {
  try {
    return kind === "image" ? fitImage(media, takes) : fitAudio(media, takes);
  } catch (error) {
    // Only our own words about its bytes: an error of the file system would tell the model a path of this machine.
    const ours = error instanceof TypeError && error.message.startsWith(`${kind}: `);
    return standIn(kind, ours ? `it could not be read (${error.message})` : "it could not be read");
  }
}

function fitImage(media: string | Uint8Array, takes: TakesMedia): MediaPart {
  const [[data, mime] = ["", ""]] = ImageContent.toBase64(ImageContent.of(media));
  if (mime === "")
    return takes.image(null) ? { type: "image", url: data } : standIn("image", cannotTake("an address"));
  if (!takes.image(mime)) return standIn("image", cannotTake(mime));
  const problem = tooLarge(data, takes.limits?.image ?? null) ?? tooWide(data, takes.limits);
  return problem ? standIn("image", problem) : { type: "image_data", mime, base64: data };
}

function fitAudio(media: string | Uint8Array, takes: TakesMedia): MediaPart {
  const [[data, mime] = ["", ""]] = AudioContent.toBase64(AudioContent.of(media));
  if (!takes.audio(mime)) return standIn("audio", cannotTake(mime));
  const problem = tooLarge(data, takes.limits?.audio ?? null);
  return problem ? standIn("audio", problem) : { type: "audio_data", mime, base64: data };
}

function tooLarge(base64: string, limits: { bytes: number } | null): string | null {
  const size = bytesIn(base64);
  return limits && size > limits.bytes
    ? `${size} bytes, of which this model takes at most ${limits.bytes}`
    : null;
}

function tooWide(base64: string, limits: MediaLimits | undefined): string | null {
  if (!limits?.image) return null;
  const size = sizeOfBase64(base64);
  return size && longestEdge(size) > limits.image.edge
    ? `${size.width} × ${size.height} pixels, of which this model takes at most ${limits.image.edge} each way`
    : null;
}

function bytesIn(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
}

/** Where the size stands is nearly always near the start; a JPEG may have a long description before it. */
const HEAD = 16 * 1024;

/** The size of a picture in base64, reading no more of it than is needed. */
export function sizeOfBase64(base64: string): ImageSize | null {
  const head = imageSize(Buffer.from(base64.slice(0, HEAD), "base64"));
  return head || base64.length <= HEAD ? head : imageSize(Buffer.from(base64, "base64"));
}

/** The longer of a picture's sides. */
export function longestEdge({ width, height }: ImageSize): number {
  return Math.max(width, height);
}

function cannotTake(what: string): string {
  return `given as ${what}, which this model cannot take`;
}

/** The line in the place of what a model does not get. */
export function standIn(kind: "image" | "audio", why: string): { type: "text"; text: string } {
  return {
    type: "text",
    text: kind === "image" ? `[An image was here: ${why}.]` : `[A sound clip was here: ${why}.]`,
  };
}
