import type { LeftOut, LLMMessage, ToolResultContent, UserContent } from "../message/index.js";
import type { Model, ModelRequest } from "./codec.js";
import { longestEdge, sizeOfBase64, standIn } from "./media.js";
import { type MediaLimits, mediaLimitsOf } from "./mediaLimits.js";
import { leaveOut, originOf } from "./origin.js";

type Kind = "image" | "audio";
type Media = string | Uint8Array;
/** What stands in for the media at these places of a history, counted from its first; null: it stays. */
type Verdicts = readonly (string | null)[];

/**
 * How many steps of pictures are left out at once: then the start of a long chat changes, and the server's cache of it is
 * lost, once in a quarter of the limit and not with every new picture.
 */
const STEPS = 4;
const OLD = "only the newest are sent";

/**
 * A request with no more pictures and sound than the model takes at once. The newest stay; in the place of each older
 * one stands a line. Pure: the same history loses the same ones.
 */
export function withinMediaCount(
  model: Model,
  request: ModelRequest,
): { request: ModelRequest; leftOut: LeftOut[] } {
  const verdicts = judge(mediaOf(request.messages), mediaLimitsOf(model));
  if (!verdicts) return { request, leftOut: [] };
  const leftOut: LeftOut[] = [];
  let at = 0;
  const messages = request.messages.map((message) => {
    const count = mediaOf([message]).length;
    const own = verdicts.slice(at, at + count);
    at += count;
    const why = own.find((one) => one !== null);
    if (!why) return message;
    leftOut.push(
      ...leaveOut(originOf(message, request.origins ?? new Map()), `a picture or sound of it: ${why}`),
    );
    return withoutMedia(message, own);
  });
  return { request: { ...request, messages }, leftOut };
}

function mediaOf(messages: readonly LLMMessage[]): { kind: Kind; media: Media }[] {
  const found: { kind: Kind; media: Media }[] = [];
  const add = (kind: Kind, list: readonly Media[] = []) => {
    for (const media of list) found.push({ kind, media });
  };
  for (const message of messages) {
    if (message.role !== "user" && message.role !== "tool") continue;
    for (const content of message.contents) {
      if (content.type === "image") add("image", content.images);
      else if (content.type === "audio") add("audio", content.audio);
      else if (content.type === "tool_result") {
        add("image", content.images);
        add("audio", content.audio);
      }
    }
  }
  return found;
}

/** Null when all may stay, which is nearly always. */
function judge(all: readonly { kind: Kind; media: Media }[], limits: MediaLimits): Verdicts | null {
  const { image } = limits;
  const pictures = all.filter(({ kind }) => kind === "image").length;
  const most = image?.count ?? Number.POSITIVE_INFINITY;
  let surplus = inSteps(pictures - most, most);
  const weights = all.map(({ media }) => weightOf(media));
  let excess = inSteps(weights.reduce((sum, weight) => sum + weight, 0) - limits.total, limits.total);
  const narrow = image?.many && pictures - surplus > image.many.over ? image.many.edge : null;
  if (surplus <= 0 && excess <= 0 && narrow === null) return null;
  return all.map(({ kind, media }, index) => {
    const old = excess > 0 || (kind === "image" && surplus > 0);
    excess -= weights[index] ?? 0;
    if (kind === "image") surplus--;
    if (old) return OLD;
    return kind === "image" && narrow !== null && isWider(media, narrow)
      ? `more than ${narrow} pixels wide or high, and this model takes no more of so many`
      : null;
  });
}

/** So much more than the limit, rounded up to whole steps of it. */
function inSteps(over: number, limit: number): number {
  if (!(over > 0)) return 0;
  const step = Math.max(1, Math.floor(limit / STEPS));
  return Math.ceil(over / step) * step;
}

/** As base64. An address weighs nothing. */
function weightOf(media: Media): number {
  if (typeof media !== "string") return Math.ceil(media.length / 3) * 4;
  return isAddress(media) ? 0 : media.length;
}

function isAddress(media: string): boolean {
  return /^(https?|file):/i.test(media.slice(0, 6));
}

function isWider(media: Media, edge: number): boolean {
  if (typeof media === "string" && isAddress(media)) return false;
  const base64 = typeof media === "string" ? media.slice(media.indexOf(",") + 1) : null;
  const size = sizeOfBase64(base64 ?? Buffer.from(media).toString("base64"));
  return size !== null && longestEdge(size) > edge;
}

function withoutMedia(message: LLMMessage, verdicts: Verdicts): LLMMessage {
  const left = verdicts.values();
  const next = (): string | null => left.next().value ?? null;
  if (message.role === "user")
    return { ...message, contents: message.contents.flatMap((content) => userContent(content, next)) };
  if (message.role === "tool")
    return { ...message, contents: message.contents.map((content) => toolResult(content, next)) };
  return message;
}

function userContent(content: UserContent, next: () => string | null): UserContent[] {
  switch (content.type) {
    case "text":
      return [content];
    case "image":
      return content.images.map((media) => lineOf("image", next()) ?? { type: "image", images: [media] });
    case "audio":
      return content.audio.map((media) => lineOf("audio", next()) ?? { type: "audio", audio: [media] });
    case "tool_result":
      return [toolResult(content, next)];
  }
}

function lineOf(kind: Kind, why: string | null): UserContent | null {
  return why === null ? null : { type: "text", content: standIn(kind, why).text };
}

function toolResult(result: ToolResultContent, next: () => string | null): ToolResultContent {
  const lines: string[] = [];
  const keep = (kind: Kind, list: readonly Media[]): Media[] =>
    list.filter(() => {
      const why = next();
      if (why !== null) lines.push(standIn(kind, why).text);
      return why === null;
    });
  const { images, audio, ...rest } = result;
  const kept = {
    ...(images ? { images: keep("image", images) } : {}),
    ...(audio ? { audio: keep("audio", audio) } : {}),
  };
  const content = [result.content, ...lines].filter((text) => text !== "").join("\n");
  return { ...rest, ...kept, content };
}
