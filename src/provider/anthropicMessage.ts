import { HANDOFF_LABEL, type Origin, type ThinkingContent } from "../message/index.js";
import { serverBlockIn } from "./anthropicServerTools.js";
import { around } from "./blocks.js";
import type { Quirks } from "./codec.js";
import type { Fitted, FittedResult, TextPart } from "./fitted.js";
import { toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import type { Spell, Spelling } from "./spelling.js";

export type WireRole = "user" | "assistant" | "system";

type Assistant = Extract<Fitted, { role: "assistant" }>;
type System = Extract<Fitted, { role: "system" }>;

/** How Anthropic Messages spells a message. Each content is a block; neighbours of one role are one message. */
export function anthropicSpell({ midSystem }: Pick<Quirks, "midSystem">): Spell {
  return (message, spelling, at, history) => {
    switch (message.role) {
      case "system": {
        const fits = midSystem !== "user" && followsUser(spelling) && precedesAnswer(history, at);
        spellSystem(message, fits ? "system" : "user", spelling);
        return;
      }
      case "user":
        spellParts(message.parts, () => begin("user", message.from, spelling), spelling);
        return;
      case "assistant":
        spellAssistant(message, spelling);
    }
  };
}

/** The API refuses a request that begins with an answer. */
const BEGINNING =
  '{"role":"user","content":[{"type":"text","text":"[What was said before is not shown.]"}]},';

const FIRST: Readonly<Record<WireRole, string>> = {
  user: ',"messages":[{"role":"user","content":[',
  system: ',"messages":[{"role":"system","content":[',
  assistant: `,"messages":[${BEGINNING}{"role":"assistant","content":[`,
};
const NEXT: Readonly<Record<WireRole, string>> = {
  user: ']},{"role":"user","content":[',
  system: ']},{"role":"system","content":[',
  assistant: ']},{"role":"assistant","content":[',
};

/** What stands between two blocks is one frame, so that a request that only grew differs in its last frame alone. */
function begin(role: WireRole, from: Origin, spelling: Spelling): void {
  if (spelling.role === role) spelling.frame(",");
  else spelling.frame((spelling.role === "" ? FIRST : NEXT)[role]);
  spelling.role = role;
  spelling.begin(from);
}

const TEXT = around('{"type":"text","text":', "}");
const THINKING = around('{"type":"thinking","thinking":', ',"signature":');
const REDACTED = around('{"type":"redacted_thinking","data":', "}");
const SIGNATURE = around("", "}");
const RESULT = around('","content":', "}");
const FAILED_RESULT = around('","content":', ',"is_error":true}');

function textBlock(text: string, spelling: Spelling): void {
  spelling.quote(text, TEXT);
}

/** The API's own system role stands only between what a user said and the answer to it. */
function followsUser({ role }: Spelling): boolean {
  return role === "user" || role === "system";
}

function precedesAnswer(history: readonly Fitted[], at: number): boolean {
  let next = at + 1;
  while (history[next]?.role === "system") next++;
  return next >= history.length || history[next]?.role === "assistant";
}

/** Where the role has to be another, a system message stays in its place, marked. */
function spellSystem({ text, from }: System, role: "system" | "user", spelling: Spelling): void {
  begin(role, from, spelling);
  const marked = `${HANDOFF_LABEL.system}\n${text}\n${HANDOFF_LABEL.systemEnd}`;
  textBlock(role === "system" ? text : marked, spelling);
}

/** Texts that follow each other are one, so that a message is one block where it can be. */
function spellParts(
  parts: readonly (TextPart | MediaPart)[],
  beginOne: () => void,
  spelling: Spelling,
): void {
  let open: string | null = null;
  const flush = (): void => {
    if (open === null) return;
    beginOne();
    textBlock(open, spelling);
    open = null;
  };
  for (const part of parts) {
    const text = part.type === "text" ? part.text : plainAddress(part);
    if (text !== null) {
      open = open === null ? text : `${open}\n\n${text}`;
    } else if (part.type !== "text") {
      flush();
      beginOne();
      spelling.put(mediaJson(part));
    }
  }
  flush();
}

type Media = Exclude<MediaPart, { type: "text" }>;

/** The API fetches images over https alone. */
function plainAddress(part: Media): string | null {
  if (part.type !== "image" || /^https:/i.test(part.url)) return null;
  return "[An image was here: its address is not https, which this model cannot take.]";
}

function mediaJson(part: Media): string {
  switch (part.type) {
    case "image":
      return toJson({ type: "image", source: { type: "url", url: part.url } });
    case "image_data":
    case "audio_data":
      // There is no sound among what is taken, so these are images.
      return toJson({ type: "image", source: { type: "base64", media_type: part.mime, data: part.base64 } });
  }
}

/** An answer, then the results of its calls, in one message with whatever a user says next. */
function spellAssistant({ parts, results, from }: Assistant, spelling: Spelling): void {
  for (const part of parts) {
    begin("assistant", from, spelling);
    spellPart(part, spelling);
  }
  for (const result of results) {
    begin("user", result.from, spelling);
    spellResult(result, spelling);
  }
  for (const result of results) if (showsApart(result)) spellApart(result, spelling);
}

function spellPart(part: Assistant["parts"][number], spelling: Spelling): void {
  switch (part.type) {
    case "text": {
      const block = part.native ? serverBlockIn(part.native) : null;
      if (block) spelling.put(toJson(block));
      else textBlock(part.text, spelling);
      return;
    }
    case "thinking":
      spellThinking(part.thinking, spelling);
      return;
    case "tool_call":
      // Ids and names are of letters that need no quoting by now.
      spelling.put(
        `{"type":"tool_use","id":"${part.id}","name":"${part.name}","input":${toJson(part.args)}}`,
      );
  }
}

/** As it came, to the byte: the signature covers it. */
function spellThinking({ content, signature, redacted }: ThinkingContent, spelling: Spelling): void {
  if (redacted) {
    spelling.quote(signature, REDACTED);
    return;
  }
  spelling.quote(content, THINKING);
  spelling.quote(signature, SIGNATURE);
}

/** A failed result may hold text alone; what it has to show follows the results. */
export function showsApart({ isError, media }: FittedResult): boolean {
  return isError && media.length > 0;
}

function spellApart({ name, id, media, from }: FittedResult, spelling: Spelling): void {
  const label: TextPart = { type: "text", text: `${HANDOFF_LABEL.toolMedia} ${name}, call ${id}]` };
  spellParts([label, ...media], () => begin("user", from, spelling), spelling);
}

function spellResult(result: FittedResult, spelling: Spelling): void {
  const { id, text, isError, media } = result;
  const apart = showsApart(result);
  spelling.put('{"type":"tool_result","tool_use_id":"');
  spelling.put(id);
  if (apart || media.length === 0) {
    const said = text || (apart ? "(see what is attached below)" : "(no output)");
    spelling.quote(said, isError ? FAILED_RESULT : RESULT);
    return;
  }
  const texts: TextPart[] = text === "" ? [] : [{ type: "text", text }];
  let before = '","content":[';
  const next = (): void => {
    spelling.put(before);
    before = ",";
  };
  spellParts([...texts, ...media], next, spelling);
  // A failed result shows what it has apart, so this one did not fail.
  spelling.put("]}");
}
