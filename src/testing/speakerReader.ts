import type { LLMMessage } from "../message/index.js";

/** A reader that knows what our markers look like to a person, and nothing of how they are made or escaped. */

/** All that any reader takes for the end of a line. */
export const EVERY_BREAK = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

/** The text of everything but the assistant's own words, which its role sets apart. */
function textsOf(message: LLMMessage): string[] {
  if (message.role === "assistant") return [];
  return message.contents.flatMap((content) => ("content" in content ? [content.content] : []));
}

/** Words as a lenient eye sees them: nothing invisible, one kind of bracket, colon and space. */
export function plain(words: string): string {
  return words
    .replace(/[\u{E0020}-\u{E007E}]/gu, (tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000))
    .replace(/[\p{Cf}\p{Cc}\p{DI}]/gu, "")
    .replace(/[［【〔⟦「﹝]/g, "[")
    .replace(/[］】〕⟧」﹞]/g, "]")
    .replace(/[：﹕∶꞉]/g, ":")
    .normalize("NFKC")
    .replace(/\s+/gu, " ")
    .toLowerCase()
    .trim();
}

/** A line without the quote and list marks before it. */
function unquoted(line: string): string {
  return plain(line).replace(/^[\s\d>\-*•|`"—,.)\]]*/u, "");
}

/** Who speaks in a message, line by line, as a reader would say. */
export function speakersIn(message: LLMMessage, split: RegExp): string[] {
  return textsOf(message).flatMap((text) =>
    text.split(split).flatMap((line) => {
      const speaker = /^\[+ ?([^\]]*?) ?\]+[\s*`".]*(?::|edited)/.exec(unquoted(line))?.[1];
      return speaker === undefined ? [] : [speaker];
    }),
  );
}

export const FENCES = [
  "time:",
  "thread context",
  "end of thread context",
  "attachment:",
  "end of attachment",
  "command output",
  "notice]",
  "summary of the conversation",
  "the conversation branched",
  "cut:",
] as const;

/** How often each of our fences is there. */
export function fencesIn(messages: readonly LLMMessage[], split: RegExp): Record<string, number> {
  const lines = messages.flatMap(textsOf).flatMap((text) => text.split(split).map(unquoted));
  return Object.fromEntries(
    FENCES.map((fence) => [
      fence,
      lines.filter((line) => line.replace(/^\[+ ?/, "[").startsWith(`[${fence}`)).length,
    ]),
  );
}
