import type { AssistantContent } from "../message/index.js";
import type { ModelDelta } from "./codec.js";
import { isRecord } from "./json.js";
import {
  type CallItem,
  callOf,
  type ItemKind,
  kindOf,
  learn,
  learnArguments,
  type MessageItem,
  newItem,
  type OutputItem,
  type ReasoningItem,
  traceOf,
  type Voice,
} from "./openaiResponsesOutputItem.js";

type Said = Record<string, unknown>;

/** Gathers the output items of one answer from the events they stream in. */
export type OutputGatherer = {
  /** An event about an item; one we do not know says nothing. */
  take(type: string, event: Said): ModelDelta[];
  /** The items of a finished response: whatever did not stream is in them. */
  settle(output: unknown): ModelDelta[];
  hasRefused(): boolean;
  hasCalls(): boolean;
  /** Text and thinking in the order they began; calls stand after both, so that leaving them out moves nothing. */
  finish(withCalls: boolean): AssistantContent[];
};

/** A gatherer for one answer. */
export function outputGatherer(api: string): OutputGatherer {
  const items: OutputItem[] = [];
  const spoken: { voice: Voice; item: ReasoningItem | MessageItem }[] = [];
  let refused = false;

  function add(kind: ItemKind, index: number | null, id: string): OutputItem {
    const item = newItem(kind, items.length, index, id);
    items.push(item);
    return item;
  }

  /**
   * Which item an event is about. Its number says so, and among several with one number its id; ids alone do not,
   * because some servers give an item another one with every event.
   */
  function find(kind: ItemKind, event: Said, id: unknown): OutputItem | null {
    const index = indexOf(event);
    const able = items.filter((item) => item.kind === kind && (index === null || item.index === index));
    return able.find((item) => item.id !== "" && item.id === id) ?? able.at(-1) ?? null;
  }

  function itemOf(kind: ItemKind, event: Said): OutputItem {
    return find(kind, event, event.item_id) ?? add(kind, indexOf(event), textOf(event.item_id));
  }

  function open(event: Said): void {
    if (!isRecord(event.item)) return;
    learn(add(kindOf(event.item.type), indexOf(event), ""), event.item);
  }

  function close(event: Said): ModelDelta[] {
    if (!isRecord(event.item)) return [];
    const kind = kindOf(event.item.type);
    const known = find(kind, event, event.item.id);
    const isAnother = known?.isDone && known.id !== event.item.id;
    return complete(known && !isAnother ? known : add(kind, indexOf(event), ""), event.item);
  }

  function complete(item: OutputItem, said: Said): ModelDelta[] {
    learn(item, said);
    item.isDone = true;
    if (item.kind === "message") return completeMessage(item, said.content);
    if (item.kind !== "reasoning") return [];
    const deltas = catchUp(item, item.voice, passagesOf(said, item.source));
    // Thinking nobody may read has its place too: it goes back to the model.
    if (item.encrypted !== "") placeOf(item, item.voice);
    return deltas;
  }

  function completeMessage(item: MessageItem, content: unknown): ModelDelta[] {
    if (!Array.isArray(content)) return [];
    return content.flatMap((part: unknown, index) => {
      if (!isRecord(part)) return [];
      return part.type === "refusal"
        ? refuse(item, index, part.refusal)
        : catchUp(item, voiceOf(item, index), textOf(part.text));
    });
  }

  function placeOf(item: ReasoningItem | MessageItem, voice: Voice): number {
    voice.part ??= spoken.push({ voice, item }) - 1;
    return voice.part;
  }

  function say(item: ReasoningItem | MessageItem, voice: Voice, delta: string): ModelDelta[] {
    if (delta === "") return [];
    voice.pieces.push(delta);
    return [{ type: voice.type, part: placeOf(item, voice), delta }];
  }

  /** What of the whole text has not been said yet. Words that were said stay: somebody has read them. */
  function catchUp(item: ReasoningItem | MessageItem, voice: Voice, whole: string): ModelDelta[] {
    const said = voice.pieces.join("");
    return whole.startsWith(said) ? say(item, voice, whole.slice(said.length)) : [];
  }

  function speak(event: Said): { item: MessageItem; voice: Voice } | null {
    const item = itemOf("message", event);
    if (item.kind !== "message") return null;
    return { item, voice: voiceOf(item, passageOf(event.content_index)) };
  }

  function refuse(item: MessageItem, index: number, whole: unknown): ModelDelta[] {
    refused = true;
    return catchUp(item, voiceOf(item, index), textOf(whole));
  }

  function think(event: Said, source: "summary" | "content", passage: unknown): ModelDelta[] {
    const item = itemOf("reasoning", event);
    const delta = textOf(event.delta);
    if (item.kind !== "reasoning" || delta === "") return [];
    item.source ??= source;
    if (item.source !== source) return [];
    const isNext = item.voice.pieces.length > 0 && item.passage !== passage;
    item.passage = passage;
    return say(item, item.voice, isNext ? `${BETWEEN_PASSAGES}${delta}` : delta);
  }

  function callIn(event: Said): CallItem | null {
    const item = itemOf("call", event);
    return item.kind === "call" ? item : null;
  }

  function take(type: string, event: Said): ModelDelta[] {
    switch (type) {
      case "response.output_item.added":
        open(event);
        return [];
      case "response.output_item.done":
        return close(event);
      case "response.output_text.delta":
      case "response.refusal.delta": {
        const delta = textOf(event.delta);
        if (type === "response.refusal.delta" && delta !== "") refused = true;
        const speaking = delta === "" ? null : speak(event);
        return speaking ? say(speaking.item, speaking.voice, delta) : [];
      }
      case "response.output_text.done":
      case "response.refusal.done": {
        const speaking = speak(event);
        return speaking ? catchUp(speaking.item, speaking.voice, textOf(event.text ?? event.refusal)) : [];
      }
      case "response.reasoning_summary_text.delta":
        return think(event, "summary", event.summary_index);
      case "response.reasoning_text.delta":
        return think(event, "content", event.content_index);
      case "response.function_call_arguments.delta":
        callIn(event)?.pieces.push(textOf(event.delta));
        return [];
      case "response.function_call_arguments.done": {
        const call = callIn(event);
        if (call && typeof event.name === "string") call.name ||= event.name;
        if (call) learnArguments(call, event.arguments);
        return [];
      }
      default:
        return [];
    }
  }

  /** By id, or else as the first, second, … of its kind. */
  function settle(output: unknown): ModelDelta[] {
    const counts = new Map<ItemKind, number>();
    return (Array.isArray(output) ? output : []).flatMap((said: unknown) => {
      if (!isRecord(said)) return [];
      const kind = kindOf(said.type);
      const ordinal = counts.get(kind) ?? 0;
      counts.set(kind, ordinal + 1);
      const able = items.filter((item) => item.kind === kind);
      const known = able.find((item) => item.id !== "" && item.id === said.id) ?? able[ordinal];
      return complete(known ?? add(kind, null, ""), said);
    });
  }

  return {
    take,
    settle,
    hasRefused: () => refused,
    hasCalls: () => items.some((item) => item.kind === "call"),
    finish(withCalls) {
      const calls = items.flatMap((item) => (item.kind === "call" ? [callOf(item, api)] : []));
      return [...spoken.map(({ voice, item }) => contentOf(voice, item, api)), ...(withCalls ? calls : [])];
    },
  };
}

const BETWEEN_PASSAGES = "\n\n";

function contentOf(voice: Voice, item: ReasoningItem | MessageItem, api: string): AssistantContent {
  const [content, native] = [voice.pieces.join(""), { api, data: traceOf(item) }];
  return item.kind === "message"
    ? { type: "text", content, native }
    : { type: "thinking", content, signature: item.encrypted, native };
}

function voiceOf(item: MessageItem, index: number): Voice {
  const known = item.voices.get(index);
  if (known) return known;
  const voice: Voice = { type: "text", pieces: [], part: null };
  item.voices.set(index, voice);
  return voice;
}

/** The words of a reasoning item: its summary, or, where there is none, the reasoning itself. */
function passagesOf({ summary, content }: Said, source: ReasoningItem["source"]): string {
  const [told, thought] = [joined(summary), joined(content)];
  if (source !== null) return source === "summary" ? told : thought;
  return told || thought;
}

function joined(parts: unknown): string {
  if (!Array.isArray(parts)) return "";
  const texts = parts.map((part: unknown) => (isRecord(part) ? textOf(part.text) : ""));
  return texts.filter((text) => text !== "").join(BETWEEN_PASSAGES);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function indexOf({ output_index }: Said): number | null {
  return typeof output_index === "number" ? output_index : null;
}

function passageOf(index: unknown): number {
  return typeof index === "number" ? index : 0;
}
