import type { AssistantContent, Native } from "../message/index.js";
import type { ModelDelta } from "./codec.js";
import { isRecord } from "./json.js";
import { readToolArguments } from "./toolArguments.js";

type Metadata = Record<string, unknown> | null;
type Saying = { kind: "text" | "thinking"; texts: string[]; metadata: Metadata };
type Calling = { kind: "tool_call"; id: string; name: string; input: string; metadata: Metadata };
type Input = { name: string; pieces: string[]; ended: boolean; metadata: Metadata };

/** Gathers an answer's contents from the parts they stream in. */
export type ContentGatherer = {
  take(part: Record<string, unknown>): ModelDelta[];
  hasCalls(): boolean;
  /** Calls of an answer that did not end well are not to be run, so they are no part of it. */
  finish(withCalls: boolean): AssistantContent[];
};

/** A gatherer for one answer. */
export function contentGatherer(api: string): ContentGatherer {
  const slots: (Saying | Calling)[] = [];
  /** Where each text and each thinking is, by its kind and id. */
  const places = new Map<string, number>();
  const metadataOf = new Map<string, Metadata>();
  const inputs = new Map<string, Input>();

  function placeOf(kind: Saying["kind"], key: string): number {
    const known = places.get(key);
    if (known !== undefined) return known;
    const place = slots.push({ kind, texts: [], metadata: metadataOf.get(key) ?? null }) - 1;
    places.set(key, place);
    return place;
  }

  /** What a provider says later of a part counts instead of what it said before. */
  function note(kind: Saying["kind"], key: string, metadata: Metadata): void {
    if (metadata === null) return;
    metadataOf.set(key, metadata);
    // A thinking without words may be all in its metadata, and has its place; an empty text is nothing.
    const place = kind === "thinking" ? placeOf(kind, key) : places.get(key);
    const slot = place === undefined ? undefined : slots[place];
    if (slot) slot.metadata = metadata;
  }

  /** Ids need only be unique among what is open: what comes under one after its end is another. */
  function say(kind: Saying["kind"], part: Record<string, unknown>): ModelDelta[] {
    const type = String(part.type);
    const key = `${kind} ${String(part.id)}`;
    if (type.endsWith("-start")) close(key);
    note(kind, key, readMetadata(part));
    const deltas = typeof part.delta === "string" ? grow(kind, key, part.delta) : [];
    if (type.endsWith("-end")) close(key);
    return deltas;
  }

  function grow(kind: Saying["kind"], key: string, delta: string): ModelDelta[] {
    if (delta === "") return [];
    const place = placeOf(kind, key);
    const slot = slots[place];
    if (slot && slot.kind !== "tool_call") slot.texts.push(delta);
    return [{ type: kind, part: place, delta }];
  }

  function close(key: string): void {
    places.delete(key);
    metadataOf.delete(key);
  }

  function takeInput(part: Record<string, unknown>): void {
    const id = String(part.id);
    const known = inputs.get(id);
    if (part.type === "tool-input-start" && part.providerExecuted !== true)
      inputs.set(id, { name: String(part.toolName), pieces: [], ended: false, metadata: readMetadata(part) });
    if (!known) return;
    if (part.type === "tool-input-end") known.ended = true;
    if (part.type === "tool-input-delta" && typeof part.delta === "string") known.pieces.push(part.delta);
  }

  /** A tool that the provider ran itself is not ours to run. */
  function takeCall(part: Record<string, unknown>): void {
    const id = typeof part.toolCallId === "string" ? part.toolCallId : "";
    inputs.delete(id);
    if (part.providerExecuted === true) return;
    const input = typeof part.input === "string" ? part.input : JSON.stringify(part.input ?? {});
    slots.push({ kind: "tool_call", id, name: String(part.toolName), input, metadata: readMetadata(part) });
  }

  /** Calls whose arguments came to their end, and which never came as a whole. */
  function unsaidCalls(): Calling[] {
    return [...inputs].flatMap(([id, { name, pieces, ended, metadata }]): Calling[] =>
      ended ? [{ kind: "tool_call", id, name, input: pieces.join(""), metadata }] : [],
    );
  }

  return {
    take(part) {
      const type = String(part.type);
      if (type.startsWith("text-")) return say("text", part);
      if (type.startsWith("reasoning-")) return say("thinking", part);
      if (type.startsWith("tool-input-")) takeInput(part);
      if (type === "tool-call") takeCall(part);
      if (type !== "file") return [];
      const delta = `[The model made something that cannot be shown here: ${String(part.mediaType)}.]`;
      return [
        { type: "text", part: slots.push({ kind: "text", texts: [delta], metadata: null }) - 1, delta },
      ];
    },
    hasCalls: () => slots.some((slot) => slot.kind === "tool_call") || unsaidCalls().length > 0,
    finish: (withCalls) =>
      [...slots, ...unsaidCalls()]
        .filter((slot) => withCalls || slot.kind !== "tool_call")
        .map((slot) => contentOf(slot, api)),
  };
}

function readMetadata({ providerMetadata }: Record<string, unknown>): Metadata {
  return isRecord(providerMetadata) ? providerMetadata : null;
}

function contentOf(slot: Saying | Calling, api: string): AssistantContent {
  const left = slot.metadata === null ? {} : { providerMetadata: slot.metadata };
  switch (slot.kind) {
    case "text":
      return { type: "text", content: slot.texts.join(""), ...nativeOf(api, left) };
    case "thinking":
      return { type: "thinking", content: slot.texts.join(""), signature: "", ...nativeOf(api, left) };
    case "tool_call": {
      const { id, name, input } = slot;
      const { args, how } = readToolArguments(input);
      const odd = how === "strict" ? {} : { rawArguments: input, [how]: true };
      return { type: "tool_call", id, name, args, ...nativeOf(api, { ...odd, ...left }) };
    }
  }
}

function nativeOf(api: string, data: Record<string, unknown>): { native?: Native } {
  return Object.keys(data).length > 0 ? { native: { api, data } } : {};
}
