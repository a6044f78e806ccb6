import type { LLMMessage, UserContent } from "../message/index.js";
import { isRecord } from "./json.js";

/**
 * Would two messages be spelled alike? By their words, not by their ids: a message that was read again is another
 * object, and one that was edited has the id it had.
 */
export function sameMessage(a: LLMMessage, b: LLMMessage): boolean {
  if (a === b) return true;
  if (a.role !== b.role || a.id !== b.id || !sameValue(a.contents, b.contents)) return false;
  if (a.role !== "assistant" || b.role !== "assistant") return true;
  return a.stopReason === b.stopReason && a.provider === b.provider && a.api === b.api && a.model === b.model;
}

/** Does a message show a file of this machine, which may change while the message does not? */
export function dependsOnFiles(message: LLMMessage): boolean {
  if (message.role !== "user" && message.role !== "tool") return false;
  for (const content of message.contents) {
    if (content.type !== "text" && mediaOf(content).some(isFile)) return true;
  }
  return false;
}

const NO_MEDIA: readonly (string | Uint8Array)[] = [];

function mediaOf(content: UserContent): readonly (string | Uint8Array)[] {
  switch (content.type) {
    case "text":
      return NO_MEDIA;
    case "image":
      return content.images;
    case "audio":
      return content.audio;
    case "tool_result":
      return content.images || content.audio
        ? [...(content.images ?? NO_MEDIA), ...(content.audio ?? NO_MEDIA)]
        : NO_MEDIA;
  }
}

function isFile(media: string | Uint8Array): boolean {
  return typeof media === "string" && /^file:/i.test(media);
}

/** Plain values and bytes, compared all the way down; the order of fields counts, because it is spelled too. */
function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((one: unknown, at) => sameValue(one, b[at]));
  }
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (!isRecord(a) || !isRecord(b)) return Number.isNaN(a) && Number.isNaN(b);
  const [names, others] = [Object.keys(a), Object.keys(b)];
  if (names.length !== others.length) return false;
  return names.every((name, at) => name === others[at] && sameValue(a[name], b[name]));
}
