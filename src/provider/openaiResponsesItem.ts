import { HANDOFF_LABEL, type LeftOut, type Origin } from "../message/index.js";
import type { Model, Quirks } from "./codec.js";
import type { Fitted, FittedResult, TextPart } from "./fitted.js";
import { quote, toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import { openaiResponsesReplay } from "./openaiResponsesReplay.js";
import { leaveOut } from "./origin.js";

/** An input item in the API's spelling: one complete JSON value. */
export type SpelledItem = { text: string; from: Origin };

/** A fitted history as input items. */
export function spellItems(
  history: readonly Fitted[],
  model: Model,
): { items: SpelledItem[]; leftOut: LeftOut[] } {
  const items: SpelledItem[] = [];
  const leftOut: LeftOut[] = [];
  const replay = openaiResponsesReplay(model);
  for (const message of history) {
    const { from } = message;
    switch (message.role) {
      case "system":
        items.push({ text: systemJson(message.text, model.quirks), from });
        break;
      case "user":
        items.push({ text: messageJson("user", message.parts), from });
        break;
      case "assistant": {
        const texts = replay(message.parts);
        if (texts.length === 0) leftOut.push(...leaveOut(from, whyLeftOut(message.parts)));
        items.push(...texts.map((text) => ({ text, from })));
        items.push(...message.results.map((result) => ({ text: resultJson(result), from: result.from })));
      }
    }
  }
  return { items, leftOut };
}

function whyLeftOut(parts: readonly { type: string }[]): string {
  const thought = parts.some((part) => part.type === "thinking");
  return thought ? "thinking alone, which this API cannot take back" : "nothing in it to send";
}

/** A system message in the middle of the history stays there, marked where the role has to be another. */
function systemJson(text: string, { midSystem }: Quirks): string {
  if (midSystem !== "user") return messageJson(midSystem, [{ type: "text", text }]);
  const marked = `${HANDOFF_LABEL.system}\n${text}\n${HANDOFF_LABEL.systemEnd}`;
  return messageJson("user", [{ type: "text", text: marked }]);
}

function messageJson(role: string, parts: readonly (TextPart | MediaPart)[]): string {
  return `{"type":"message","role":"${role}","content":[${parts.map(partJson).join()}]}`;
}

function partJson(part: TextPart | MediaPart): string {
  switch (part.type) {
    case "text":
      return `{"type":"input_text","text":${quote(part.text)}}`;
    case "image":
      return imageJson(part.url);
    case "image_data":
      return imageJson(`data:${part.mime};base64,${part.base64}`);
    case "audio_data":
      return partJson({ type: "text", text: "[A sound clip was here, which this API cannot take.]" });
  }
}

function imageJson(url: string): string {
  return toJson({ type: "input_image", detail: "auto", image_url: url });
}

/** The API has no flag for a failed tool, so it is said in words; pictures go along with them. */
function resultJson(result: FittedResult): string {
  const said = result.text || (result.media.length > 0 ? "(see what is attached)" : "(no output)");
  const text = result.isError ? `Error: ${said}` : said;
  const parts: (TextPart | MediaPart)[] = [{ type: "text", text }, ...result.media];
  const output = parts.length === 1 ? quote(text) : `[${parts.map(partJson).join()}]`;
  return `{"type":"function_call_output","call_id":${quote(result.id)},"output":${output}}`;
}
