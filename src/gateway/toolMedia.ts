import { takesAddress } from "../agent/index.js";
import { type ToolResultContent, toBytes } from "../message/index.js";
import type { MediaWork } from "./mediaWork.js";

/**
 * A tool's result with its pictures in the form every API takes, before it is kept. An address stays one where the chat's
 * model fetches it itself; else we do. What cannot be had is told in the result's words.
 */
export async function withSeenMedia(
  media: MediaWork,
  chatJid: string,
  result: ToolResultContent,
): Promise<ToolResultContent> {
  const { images } = result;
  if (!images || images.length === 0) return result;
  const limits = await media.limitsIn(chatJid);
  const seen = await Promise.all(
    images.map((image) =>
      isAddress(image) && limits && takesAddress(limits, image)
        ? { ok: true as const, image }
        : seenImage(media, image),
    ),
  );
  const lines = seen.flatMap((one, index) => (one.ok ? [] : [`[image ${index + 1} left out: ${one.why}]`]));
  return {
    ...result,
    content: [result.content, ...lines].filter((text) => text !== "").join("\n"),
    images: seen.flatMap((one) => (one.ok ? [one.image] : [])),
  };
}

type Media = string | Uint8Array;
type SeenImage = { ok: true; image: Media } | { ok: false; why: string };

function isAddress(image: Media): image is string {
  return typeof image === "string" && /^https?:/i.test(image);
}

async function seenImage(media: MediaWork, image: Media): Promise<SeenImage> {
  const fetched = isAddress(image) ? await media.fetch(image) : null;
  if (fetched && !fetched.ok) return fetched;
  const bytes = fetched?.bytes ?? toBytes(image);
  // What is no picture by its looks alone was refused before it came here.
  if (!bytes) return { ok: true, image };
  const picture = await media.picture(bytes);
  if (!picture.ok) return picture;
  return { ok: true, image: picture.bytes === bytes && !fetched ? image : picture.bytes };
}
