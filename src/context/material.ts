import { type Content, type LLMMessage, type Source, SUMMARY_LABEL } from "../message/index.js";
import { assemble } from "./assemble.js";
import type { ContextInput } from "./context.js";
import { escapeMarkers } from "./escape.js";
import { neutraliseName } from "./labels.js";
import { cutMarker, speakerMarker, toolCallMarker, toolResultMarker } from "./markers.js";
import { estimateTokens } from "./tokens.js";

/** Some lines of a conversation that is told, and what they were made from. */
export type MaterialPiece = { text: string; sources: Source[] };

/**
 * A stretch of a path as it is told to whoever summarises it: what the one assembler lets a model see of it, in lines.
 * The operator's own rows are not in it: they stay in view, whatever a summary covers.
 */
export function materialOf(input: ContextInput): MaterialPiece[] {
  const { messages, origins } = assemble({ ...input, notices: [], standing: [] });
  const speaker = speakerMarker(neutraliseName(input.chat.assistant_name, "assistant"), null);
  return messages.flatMap((message) => {
    const origin = origins.get(message.id);
    if (message.role === "system" && origin?.kind !== "thread_context") return [];
    const text = linesOf(message, speaker);
    return text === "" ? [] : [{ text, sources: origin?.sources ?? [] }];
  });
}

function linesOf({ role, contents }: LLMMessage, speaker: string): string {
  const lines = contents.map((content) => toldContent(content, role === "assistant" ? speaker : null));
  return lines.filter((line) => line !== "").join("\n");
}

/** People's words and results come escaped from the assembler; an answer's own words go to a model as they are. */
function toldContent(content: Content, speaker: string | null): string {
  switch (content.type) {
    case "text":
      return speaker === null ? content.content : `${speaker} ${escapeMarkers(content.content)}`;
    case "tool_call": {
      const name = neutraliseName(content.name, "unnamed");
      return `${toolCallMarker(name)}\n${escapeMarkers(JSON.stringify(content.args))}`;
    }
    case "tool_result":
      return `${toolResultMarker(content.isError)}\n${content.content}`;
    case "image":
      return content.images.map(() => "[An image was here]").join("\n");
    case "audio":
      return content.audio.map(() => "[A sound clip was here]").join("\n");
    case "thinking":
      return "";
  }
}

const CONTINUED = cutMarker("a message goes on here");

/** Material in stretches of at most so many tokens each; a message longer than that is told in several. */
export function stretchesOf(pieces: readonly MaterialPiece[], tokens: number): MaterialPiece[][] {
  const stretches: MaterialPiece[][] = [];
  let filled = Number.POSITIVE_INFINITY;
  for (const piece of pieces.flatMap((whole) => partsOf(whole, tokens))) {
    const size = estimateTokens(piece.text) + 1;
    if (filled + size > tokens) {
      stretches.push([]);
      filled = 0;
    }
    stretches.at(-1)?.push(piece);
    filled += size;
  }
  return stretches;
}

/** A part that begins in the middle of a line could begin with what reads as a marker there: it is escaped anew. */
function partsOf(piece: MaterialPiece, tokens: number): MaterialPiece[] {
  const size = estimateTokens(piece.text) + 1;
  if (size <= tokens) return [piece];
  const letters = Math.max(1, Math.floor((piece.text.length * tokens * 0.8) / size));
  const parts: MaterialPiece[] = [];
  for (let from = 0; from < piece.text.length; from += letters) {
    const text = piece.text.slice(from, from + letters).toWellFormed();
    parts.push({ ...piece, text: from === 0 ? text : `${CONTINUED}\n${escapeMarkers(text)}` });
  }
  return parts;
}

/** What an earlier stage made of the stretches before: a model wrote it, and anybody may have told it how. */
export function toldSummary(summary: string): string {
  return `${SUMMARY_LABEL.compaction}\n${escapeMarkers(summary)}`;
}
