import { HANDOFF_LABEL, type Origin } from "../message/index.js";
import type { Model } from "./codec.js";
import type { Fitted, FittedResult, TextPart } from "./fitted.js";
import { toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import { openaiResponsesReplay } from "./openaiResponsesReplay.js";
import type { Spell, Spelling } from "./spelling.js";

/** How Responses spells a message: one or more input items, each a block. */
export function openaiResponsesSpell(model: Model): Spell {
  const { midSystem } = model.quirks;
  const replay = openaiResponsesReplay(model);
  return (message, spelling) => {
    switch (message.role) {
      case "system":
        item(message.from, spelling);
        return spellMessage(
          midSystem,
          [{ type: "text", text: systemText(message.text, midSystem) }],
          spelling,
        );
      case "user":
        item(message.from, spelling);
        return spellMessage("user", message.parts, spelling);
      case "assistant": {
        const any = replay(message.parts, spelling, () => item(message.from, spelling));
        if (!any) spelling.leaveOut(message.from, whyLeftOut(message));
        for (const result of message.results) spellResult(result, spelling);
      }
    }
  };
}

/** An item begins. There is but one kind of place between two of them. */
function item(from: Origin, spelling: Spelling): void {
  if (spelling.role !== "") spelling.frame(",");
  spelling.role = "item";
  spelling.begin(from);
}

function whyLeftOut({ parts }: Extract<Fitted, { role: "assistant" }>): string {
  const thought = parts.some((part) => part.type === "thinking");
  return thought ? "thinking alone, which this API cannot take back" : "nothing in it to send";
}

/** A system message in the middle of the history stays there, marked where the role has to be another. */
function systemText(text: string, role: string): string {
  return role === "user" ? `${HANDOFF_LABEL.system}\n${text}\n${HANDOFF_LABEL.systemEnd}` : text;
}

function spellMessage(role: string, parts: readonly (TextPart | MediaPart)[], spelling: Spelling): void {
  spelling.put(`{"type":"message","role":"${role}","content":[`);
  spellParts(parts, spelling);
  spelling.put("]}");
}

function spellParts(parts: readonly (TextPart | MediaPart)[], spelling: Spelling): void {
  parts.forEach((part, at) => {
    if (at > 0) spelling.put(",");
    spellPart(part, spelling);
  });
}

function spellPart(part: TextPart | MediaPart, spelling: Spelling): void {
  switch (part.type) {
    case "text":
      spelling.put('{"type":"input_text","text":');
      spelling.quote(part.text);
      spelling.put("}");
      return;
    case "image":
      spelling.put(imageJson(part.url));
      return;
    case "image_data":
      spelling.put(imageJson(`data:${part.mime};base64,${part.base64}`));
      return;
    case "audio_data":
      spellPart({ type: "text", text: "[A sound clip was here, which this API cannot take.]" }, spelling);
  }
}

function imageJson(url: string): string {
  return toJson({ type: "input_image", detail: "auto", image_url: url });
}

/** The API has no flag for a failed tool, so it is said in words; pictures go along with them. */
function spellResult({ id, text, isError, media, from }: FittedResult, spelling: Spelling): void {
  item(from, spelling);
  const said = text || (media.length > 0 ? "(see what is attached)" : "(no output)");
  const told = isError ? `Error: ${said}` : said;
  // Ids are of letters that need no quoting by now.
  spelling.put(`{"type":"function_call_output","call_id":"${id}","output":`);
  if (media.length === 0) spelling.quote(told);
  else {
    spelling.put("[");
    spellParts([{ type: "text", text: told }, ...media], spelling);
    spelling.put("]");
  }
  spelling.put("}");
}
