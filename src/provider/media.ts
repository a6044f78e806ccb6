import { AudioContent, ImageContent } from "../message/index.js";

/** An image by address, or media as base64 with its type, or one line in the place of what the model cannot take. */
export type MediaPart =
  | { type: "image"; url: string }
  | { type: "image_data"; mime: string; base64: string }
  | { type: "audio_data"; mime: string; base64: string }
  | { type: "text"; text: string };

/** What a model can take. `mime` is null for an image that is given by address. */
export type TakesMedia = { image(mime: string | null): boolean; audio(mime: string): boolean };

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
  return takes.image(mime) ? { type: "image_data", mime, base64: data } : standIn("image", cannotTake(mime));
}

function fitAudio(media: string | Uint8Array, takes: TakesMedia): MediaPart {
  const [[data, mime] = ["", ""]] = AudioContent.toBase64(AudioContent.of(media));
  return takes.audio(mime) ? { type: "audio_data", mime, base64: data } : standIn("audio", cannotTake(mime));
}

function cannotTake(what: string): string {
  return `given as ${what}, which this model cannot take`;
}

function standIn(kind: "image" | "audio", why: string): MediaPart {
  return {
    type: "text",
    text: kind === "image" ? `[An image was here: ${why}.]` : `[A sound clip was here: ${why}.]`,
  };
}
