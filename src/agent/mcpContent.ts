import { isRecord } from "../message/json.js";
import { mediaProblem } from "../message/shape.js";
import type { ToolOutput } from "./tool.js";

const MIME = /^[\w.+-]+\/[\w.+-]+$/;

type Parts = { words: string[]; images: string[]; audio: string[] };

/** What an MCP server answered to a call, as a tool's output. Nothing is dropped without a word. */
export function outputOfMcp(answer: Record<string, unknown>): ToolOutput {
  const parts: Parts = { words: [], images: [], audio: [] };
  const { content, structuredContent } = answer;
  if (Array.isArray(content)) for (const item of content) addContent(item, parts);
  else if (content !== undefined) parts.words.push("[the server's answer has no list of contents]");
  // Servers repeat it as text for models; only one that does not leaves it to us.
  if (structuredContent !== undefined && parts.words.length === 0)
    parts.words.push(JSON.stringify(structuredContent));
  const hasMedia = parts.images.length + parts.audio.length > 0;
  if (parts.words.length === 0 && !hasMedia) parts.words.push("The tool finished and gave nothing back.");
  return {
    content: parts.words.join("\n"),
    isError: answer.isError === true,
    metadata: structuredContent === undefined ? {} : { structured_content: structuredContent },
    images: parts.images,
    audio: parts.audio,
  };
}

function addContent(item: unknown, parts: Parts): void {
  if (!isRecord(item)) {
    parts.words.push("[something that is no content was left out]");
    return;
  }
  switch (item.type) {
    case "text":
      parts.words.push(String(item.text));
      return;
    case "image":
    case "audio":
      addMedia(item.type, item.data, item.mimeType, parts);
      return;
    case "resource":
      addResource(isRecord(item.resource) ? item.resource : {}, parts);
      return;
    case "resource_link":
      parts.words.push(linkWords(item));
      return;
    default:
      parts.words.push(`[content of the type ${JSON.stringify(item.type)} was left out]`);
  }
}

/** Its own bytes only: an address in their place would make us fetch what a stranger names. */
function addMedia(kind: "image" | "audio", data: unknown, mimeType: unknown, parts: Parts): void {
  const mime = typeof mimeType === "string" && MIME.test(mimeType) ? mimeType : `${kind}/unknown`;
  const media = `data:${mime};base64,${typeof data === "string" ? data : ""}`;
  const problem = mediaProblem(media, kind, "outside");
  if (problem) parts.words.push(`[${kind} left out: ${problem}]`);
  else (kind === "image" ? parts.images : parts.audio).push(media);
}

function addResource({ uri, text, blob, mimeType }: Record<string, unknown>, parts: Parts): void {
  parts.words.push(`[resource ${String(uri)}]`);
  if (typeof text === "string") {
    parts.words.push(text);
    return;
  }
  const kind = /^(image|audio)\//.exec(String(mimeType))?.[1];
  if (kind === "image" || kind === "audio") {
    addMedia(kind, blob, mimeType, parts);
    return;
  }
  const bytes = typeof blob === "string" ? Math.floor((blob.length * 3) / 4) : 0;
  parts.words.push(`[${bytes} bytes of ${String(mimeType ?? "an unknown type")}, not shown]`);
}

function linkWords({ uri, name, description }: Record<string, unknown>): string {
  const about = [name, description].filter((part) => typeof part === "string" && part !== "").join(", ");
  return `[link ${String(uri)}${about ? `: ${about}` : ""}]`;
}
