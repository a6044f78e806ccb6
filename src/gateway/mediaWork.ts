import { isIP } from "node:net";
import { type MediaLimits, mediaLimitsOf, type Transcriber } from "../agent/index.js";
import {
  type AddressCheck,
  FETCH_LIMITS,
  type Fetched,
  fetchOutside,
  isPublicAddress,
} from "./fetchOutside.js";
import type { Hall } from "./hall.js";
import { modelsOf } from "./models.js";
import { loadSharp, type SeenPicture, seenPicture } from "./pictures.js";

/** What is done with files before a model gets them. */
export type MediaWork = {
  /** The bytes at an address that a message, or a tool, names. */
  fetch(url: string): Promise<Fetched>;
  /** Those that wait when the signal fires are not made. */
  picture(bytes: Uint8Array, signal?: AbortSignal): Promise<SeenPicture>;
  /** Null: nobody writes down what is said in a sound. */
  transcriber: Transcriber | null;
  /** What the model that answers in a chat takes; null where there is none. */
  limitsIn(chatJid: string): Promise<MediaLimits | null>;
};

export type MediaOptions = {
  /** Writes down what is said in sounds that a chat's model cannot hear. */
  transcriber?: Transcriber | undefined;
  /** From which addresses files are fetched; public ones when not given. Only a test, or a closed network, wants others. */
  mayFetch?: AddressCheck | undefined;
};

export function mediaWork(
  hall: () => Pick<Hall, "chats"> & Parameters<typeof modelsOf>[0],
  { transcriber, mayFetch }: MediaOptions,
): MediaWork {
  return {
    fetch: (url) => fetchOutside(url, FETCH_LIMITS, mayFetch),
    picture: (bytes, signal) => seenPicture(bytes, loadSharp, signal),
    transcriber: transcriber ?? null,
    async limitsIn(chatJid) {
      const chat = await hall().chats.byJid(chatJid);
      const found = chat ? await modelsOf(hall(), chat) : null;
      if (!found?.ok) return null;
      const limits = mediaLimitsOf(found.model);
      return limits.image && isInside(found.model.baseUrl)
        ? { ...limits, image: { ...limits.image, addresses: "none" } }
        : limits;
    },
  };
}

/** A server in our own network must not be sent after an address that somebody else names. */
function isInside(baseUrl: string): boolean {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname.replace(/^\[|\]$/g, "") : "";
  return isIP(host) === 0 ? !host.includes(".") : !isPublicAddress(host);
}
