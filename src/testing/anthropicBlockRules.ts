import { isRecord } from "../provider/json.js";

export type Fields = Record<string, unknown>;

/** Says whether a signature belongs to a thinking; the vendor keeps how. */
export type Verify = (thinking: string, signature: string) => boolean;

const ID = /^[a-zA-Z0-9_-]+$/;
export const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MIME = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const KEYS: Readonly<Record<string, readonly string[]>> = {
  text: ["type", "text", "cache_control", "citations"],
  image: ["type", "source", "cache_control"],
  thinking: ["type", "thinking", "signature"],
  redacted_thinking: ["type", "data"],
  tool_use: ["type", "id", "name", "input", "cache_control"],
  tool_result: ["type", "tool_use_id", "content", "is_error", "cache_control"],
  server_tool_use: ["type", "id", "name", "input", "caller", "cache_control"],
  web_search_tool_result: ["type", "tool_use_id", "content", "caller", "cache_control"],
};
const IN_ROLE: Readonly<Record<string, readonly string[]>> = {
  user: ["text", "image", "tool_result"],
  assistant: [
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "server_tool_use",
    "web_search_tool_result",
  ],
  system: ["text"],
};

/** The blocks of a message; a string is short for one block of text. */
export function blocksOf(content: unknown): Fields[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

/** What is wrong with the content of one message, looked at alone. */
export function contentRules(content: unknown, role: string, verify: Verify | undefined): string[] {
  const blocks = blocksOf(content);
  if (blocks.length === 0) return ["content is empty"];
  if (Array.isArray(content) && content.length !== blocks.length) return ["a block is not an object"];
  const broken = blocks.flatMap((block) => blockRules(block, role, verify));
  if (role === "user") broken.push(...resultsFirst(blocks));
  const last = String(blocks.at(-1)?.type);
  if (role === "assistant" && last.endsWith("thinking"))
    broken.push(`the final block in an assistant message cannot be ${last}`);
  return broken;
}

/** The vendor's own tools: a call and what it gave stand in one turn of the assistant; the last may wait for it. */
export function serverToolRules(messages: readonly Fields[]): string[] {
  return messages.flatMap((message, at) => {
    const blocks = blocksOf(message.content);
    const called = blocks.flatMap((block) => (block.type === "server_tool_use" ? [block.id] : []));
    const given = blocks.flatMap((block) =>
      /^web_.*_tool_result$/.test(String(block.type)) ? [block.tool_use_id] : [],
    );
    const rests =
      at === messages.length - 1 && blocks.at(-1)?.type === "server_tool_use" ? [called.pop()] : [];
    return [
      ...called
        .filter((id) => !given.includes(id))
        .map((id) => `messages.${at}: server_tool_use ${id} without its result`),
      ...given
        .filter((id) => ![...called, ...rests].includes(id))
        .map((id) => `messages.${at}: a result of ${id}, which was not called`),
    ];
  });
}

function resultsFirst(blocks: readonly Fields[]): string[] {
  const other = blocks.findIndex((block) => block.type !== "tool_result");
  const late = other !== -1 && blocks.slice(other).some((block) => block.type === "tool_result");
  return late ? ["a tool_result after other content"] : [];
}

function blockRules(block: Fields, role: string, verify: Verify | undefined): string[] {
  const type = String(block.type);
  const keys = KEYS[type];
  if (!keys || !IN_ROLE[role]?.includes(type)) return [`a block ${type} in role ${role}`];
  const unknown = Object.keys(block).filter((key) => !keys.includes(key));
  return [
    ...unknown.map((key) => `${type}.${key}: extra inputs are not permitted`),
    ...ownRules(block, type, verify),
  ];
}

function ownRules(block: Fields, type: string, verify: Verify | undefined): string[] {
  switch (type) {
    case "text":
      return textRules(block.text);
    case "image":
      return imageRules(block.source);
    case "thinking":
      return thinkingRules(block, verify);
    case "redacted_thinking":
      return typeof block.data === "string" && block.data !== "" ? [] : ["redacted thinking without data"];
    case "tool_use":
    case "server_tool_use":
      return callRules(block);
    case "web_search_tool_result":
      return [];
    default:
      return resultRules(block);
  }
}

function textRules(text: unknown): string[] {
  return typeof text === "string" && /\S/.test(text)
    ? []
    : ["text content blocks must contain non-whitespace text"];
}

function imageRules(source: unknown): string[] {
  if (!isRecord(source)) return ["an image without a source"];
  if (source.type === "url") {
    return /^https:\/\/./.test(String(source.url)) ? [] : ["only HTTPS URLs are supported"];
  }
  const fits = source.type === "base64" && MIME.includes(String(source.media_type));
  const readable = typeof source.data === "string" && /^[A-Za-z0-9+/]+=*$/.test(source.data);
  return fits && readable ? [] : ["an image that is none"];
}

function thinkingRules({ thinking, signature }: Fields, verify: Verify | undefined): string[] {
  if (typeof thinking !== "string" || typeof signature !== "string" || signature === "")
    return ["thinking without a signature"];
  return verify && !verify(thinking, signature) ? ["invalid signature in thinking block"] : [];
}

function callRules({ id, name, input }: Fields): string[] {
  const broken: string[] = [];
  if (!ID.test(String(id)) || String(id).length > 64) broken.push(`tool_use.id ${JSON.stringify(id)}`);
  if (!NAME.test(String(name))) broken.push(`tool_use.name ${JSON.stringify(name)}`);
  if (!isRecord(input)) broken.push("tool_use.input: input should be a valid dictionary");
  return broken;
}

function resultRules({ tool_use_id: id, content, is_error: isError }: Fields): string[] {
  const broken = ID.test(String(id)) ? [] : [`tool_use_id ${JSON.stringify(id)}`];
  if (isError !== undefined && typeof isError !== "boolean") broken.push("is_error is no boolean");
  const blocks = blocksOf(content);
  if (content !== undefined && blocks.length === 0) broken.push("tool_result.content is empty");
  if (isError && blocks.length === 0) broken.push("content cannot be empty if is_error is true");
  if (isError && blocks.some((block) => block.type !== "text"))
    broken.push("all content must be type text if is_error is true");
  for (const block of blocks) {
    if (block.type === "text" || block.type === "image")
      broken.push(...ownRules(block, block.type, undefined));
    else broken.push(`a block ${String(block.type)} in a tool_result`);
  }
  return broken;
}
