import type { LeftOut, Native, Origin, ThinkingContent } from "../message/index.js";
import type { MediaPart, TakesMedia } from "./media.js";
import type { IdRule } from "./toolCallId.js";

/** What a history must fit: which model reads it, and what its API takes. */
export type Target = { provider: string; api: string; model: string; ids: IdRule; takes: TakesMedia };

/** With what this very model left on it, such as a signature: then it may be empty, and stays apart from its neighbours. */
export type TextPart = { type: "text"; text: string; native?: Native };
/** Thinking of this very model; another's is text by now. */
export type ThinkingPart = { type: "thinking"; thinking: ThinkingContent };
export type CallPart = {
  type: "tool_call";
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** What this very model left with the call; another's is gone. */
  native: Native | null;
};
export type FittedResult = {
  id: string;
  name: string;
  /** May be empty. */
  text: string;
  isError: boolean;
  media: Exclude<MediaPart, { type: "text" }>[];
  from: Origin;
};

/** A message that any API can spell: nothing empty, calls with their answers, ids the API takes. */
export type Fitted =
  | { role: "system"; text: string; from: Origin }
  | { role: "user"; parts: (TextPart | MediaPart)[]; from: Origin }
  | {
      role: "assistant";
      parts: (TextPart | ThinkingPart | CallPart)[];
      /** One for each call, in call order. They follow this message directly. */
      results: FittedResult[];
      from: Origin;
    };

export type FittedHistory = {
  /** Leading system messages: part of the system prompt. */
  leading: { text: string; from: Origin }[];
  messages: Fitted[];
  leftOut: LeftOut[];
};

/** Is there nothing to read in it? The first character nearly always tells. */
export function isBlank(text: string): boolean {
  const first = text.charCodeAt(0);
  return first > 32 && first < 127 ? false : !/\S/.test(text);
}
