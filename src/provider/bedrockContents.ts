import type { AssistantContent } from "../message/index.js";
import { contentGatherer } from "./anthropicContents.js";
import type { ModelDelta } from "./codec.js";
import { isRecord } from "./json.js";

/** Gathers the contents of an answer from Converse's blocks, which are Anthropic's in other words. */
export type BedrockContents = {
  start(index: number, start: unknown): ModelDelta[];
  grow(index: number, delta: unknown): ModelDelta[];
  stop(index: number): void;
  /** A block that comes in one piece. */
  whole(index: number, block: unknown): ModelDelta[];
  hasCalls(): boolean;
  finish(api: string): AssistantContent[];
};

/** A gatherer for one answer. */
export function bedrockContents(): BedrockContents {
  const gatherer = contentGatherer();
  const kinds = new Map<number, string>();
  const signatures = new Map<number, string>();
  const redacted = new Map<number, Buffer[]>();

  function begin(index: number, block: { type: string } & Record<string, unknown>): void {
    gatherer.start(index, block);
    kinds.set(index, block.type);
    signatures.delete(index);
  }

  /** Only calls are announced; a text or a thinking begins with its first piece. */
  function growAs(type: "text" | "thinking", index: number, delta: Record<string, unknown>): ModelDelta[] {
    if (kinds.get(index) !== type) begin(index, { type });
    return gatherer.grow(index, delta);
  }

  function growThinking(index: number, delta: Record<string, unknown>): ModelDelta[] {
    const { text, signature, redactedContent } = delta;
    if (typeof redactedContent === "string") {
      redacted.set(index, [...(redacted.get(index) ?? []), Buffer.from(redactedContent, "base64")]);
      return [];
    }
    if (typeof text === "string")
      return growAs("thinking", index, { type: "thinking_delta", thinking: text });
    if (typeof signature !== "string") return [];
    // It is a piece like any other; the gatherer wants all of it so far.
    const whole = `${kinds.get(index) === "thinking" ? (signatures.get(index) ?? "") : ""}${signature}`;
    const deltas = growAs("thinking", index, { type: "signature_delta", signature: whole });
    signatures.set(index, whole);
    return deltas;
  }

  function begun(index: number, start: unknown): void {
    if (!isRecord(start) || !isRecord(start.toolUse)) return;
    const { toolUseId: id, name, input } = start.toolUse;
    begin(index, { type: "tool_use", id, name, input });
  }

  function grow(index: number, delta: unknown): ModelDelta[] {
    if (!isRecord(delta)) return [];
    const { text, toolUse, reasoningContent } = delta;
    if (typeof text === "string") return growAs("text", index, { type: "text_delta", text });
    if (isRecord(reasoningContent)) return growThinking(index, reasoningContent);
    if (!isRecord(toolUse)) return [];
    return gatherer.grow(index, { type: "input_json_delta", partial_json: toolUse.input });
  }

  /** Half of what is encrypted is of no use, so it counts when it has ended. */
  function stop(index: number): void {
    const pieces = redacted.get(index);
    if (!pieces) return;
    redacted.delete(index);
    begin(index, { type: "redacted_thinking", data: Buffer.concat(pieces).toString("base64") });
  }

  return {
    start(index, start) {
      begun(index, start);
      return [];
    },
    grow,
    stop,
    whole(index, block) {
      if (!isRecord(block)) return [];
      begun(index, block);
      const thinking = isRecord(block.reasoningContent) ? block.reasoningContent : {};
      const { text, signature } = isRecord(thinking.reasoningText) ? thinking.reasoningText : {};
      const deltas = [
        ...grow(index, { text: block.text }),
        ...grow(index, { reasoningContent: { text } }),
        ...grow(index, { reasoningContent: { signature } }),
        ...grow(index, { reasoningContent: { redactedContent: thinking.redactedContent } }),
      ];
      stop(index);
      return deltas;
    },
    hasCalls: gatherer.hasCalls,
    finish: gatherer.finish,
  };
}
