import { isRecord, parseJson } from "../provider/json.js";
import { mediaRules } from "./mediaRules.js";

/** Which of the rules that models of this API differ in are enforced. */
export type GeminiRuleSwitches = {
  /** The first call of every step bears a signature, and media may stand inside a result: since Gemini 3. */
  third?: boolean;
  /** Images by address are fetched. */
  imageUrls?: boolean;
};

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;
const BASE64 = /^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?$/;
const MEDIA =
  /^(image\/(png|jpeg|webp|heic|heif)|audio\/(wav|x-wav|wave|mpeg|mp3|ogg|flac|aac|aiff)|application\/pdf)$/;
const RESULT_MEDIA = /^(image\/(png|jpeg|webp)|application\/pdf|text\/plain)$/;
const DATA = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];
const REQUEST_KEYS = ["contents", "tools", "systemInstruction", "generationConfig"];
const CONFIG_KEYS = ["temperature", "maxOutputTokens", "thinkingConfig"];

type Fields = Record<string, unknown>;
type Content = { role: string; parts: Fields[] };

/**
 * Everything in a request body that the API would refuse, in words. Written from the API's rules, without a line of
 * the code that makes the bodies, so that each can catch the other's mistakes.
 */
export function brokenRules(body: string, switches: GeminiRuleSwitches = {}): string[] {
  const request = parseJson(body);
  if (!isRecord(request)) return ["the body is not a JSON object"];
  const broken = [
    ...loneSurrogates(request),
    ...mediaRules("gemini", request, body),
    ...unknownFields(request, REQUEST_KEYS),
  ];
  broken.push(...configRules(request.generationConfig), ...systemRules(request.systemInstruction));
  if (request.tools !== undefined) broken.push(...toolRules(request.tools));
  const contents = readContents(request.contents);
  if (contents.length === 0) return [...broken, "contents is not specified"];
  contents.forEach(({ role, parts }, at) => {
    const rules =
      parts.length === 0 ? ["no parts"] : parts.flatMap((part) => partRules(part, role, switches));
    broken.push(...rules.map((rule) => `content ${at}: ${rule}`));
  });
  return [
    ...broken,
    ...turnRules(contents),
    ...pairingRules(contents),
    ...signatureRules(contents, switches),
  ];
}

function readContents(contents: unknown): Content[] {
  if (!Array.isArray(contents)) return [];
  return contents.map((content: unknown) => {
    const { role, parts } = isRecord(content) ? content : {};
    return { role: String(role), parts: Array.isArray(parts) ? parts.filter(isRecord) : [] };
  });
}

function loneSurrogates(value: unknown): string[] {
  if (typeof value === "string") return /\p{Surrogate}/u.test(value) ? ["a lone surrogate"] : [];
  if (Array.isArray(value)) return value.flatMap(loneSurrogates);
  return isRecord(value)
    ? Object.entries(value).flatMap(([key, inner]) => [...loneSurrogates(key), ...loneSurrogates(inner)])
    : [];
}

function unknownFields(value: Fields, known: readonly string[]): string[] {
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => `Unknown name "${key}": Cannot find field.`);
}

function configRules(config: unknown): string[] {
  if (config === undefined) return [];
  if (!isRecord(config)) return ["generationConfig is not an object"];
  const broken = unknownFields(config, CONFIG_KEYS);
  const thinking = config.thinkingConfig;
  if (!isRecord(thinking)) return broken;
  if (thinking.thinkingLevel !== undefined && thinking.thinkingBudget !== undefined)
    broken.push("You can only set one of thinking budget and thinking level.");
  return [...broken, ...unknownFields(thinking, ["includeThoughts", "thinkingLevel", "thinkingBudget"])];
}

function systemRules(system: unknown): string[] {
  if (system === undefined) return [];
  const parts = isRecord(system) && Array.isArray(system.parts) ? system.parts.filter(isRecord) : [];
  if (parts.length === 0) return ["an empty system instruction"];
  return parts.flatMap((part) =>
    typeof part.text === "string" && part.text.trim() !== "" ? [] : ["a blank system instruction"],
  );
}

function toolRules(tools: unknown): string[] {
  const groups = Array.isArray(tools) ? tools.filter(isRecord) : [];
  const declared = groups.flatMap(({ functionDeclarations }) =>
    Array.isArray(functionDeclarations) ? functionDeclarations.filter(isRecord) : [],
  );
  if (declared.length === 0) return ["tools is empty"];
  const names = declared.map((tool) => String(tool.name));
  const broken = declared.flatMap((tool) =>
    unknownFields(tool, ["name", "description", "parametersJsonSchema"]),
  );
  broken.push(...names.filter((name) => !NAME.test(name)).map((name) => `Invalid function name ${name}`));
  if (declared.some((tool) => !isRecord(tool.parametersJsonSchema)))
    broken.push("a schema that is no object");
  return new Set(names).size === names.length ? broken : [...broken, "Duplicate function declaration found"];
}

function partRules(part: Fields, role: string, switches: GeminiRuleSwitches): string[] {
  const data = Object.keys(part).filter((key) => DATA.includes(key));
  const broken = unknownFields(part, [...DATA, "thought", "thoughtSignature"]);
  if (data.length !== 1) broken.push("one of the fields of a part must be set, and only one");
  const signature = part.thoughtSignature;
  if (
    signature !== undefined &&
    (typeof signature !== "string" || signature === "" || !BASE64.test(signature))
  )
    broken.push("Base64 decoding failed for a signature");
  if (role === "user" && (part.thought || signature || part.functionCall))
    broken.push("a thought of the user");
  if (role === "model" && (part.functionResponse || part.inlineData || part.fileData))
    broken.push("media or a result of the model");
  if (
    part.text !== undefined &&
    (typeof part.text !== "string" || (part.text === "" && signature === undefined))
  )
    broken.push("an empty text parameter");
  if (part.inlineData !== undefined) broken.push(...blobRules(part.inlineData, MEDIA));
  if (part.fileData !== undefined) broken.push(...fileRules(part.fileData, switches));
  if (part.functionCall !== undefined) broken.push(...callRules(part.functionCall));
  if (part.functionResponse !== undefined) broken.push(...responseRules(part.functionResponse, switches));
  return broken;
}

function blobRules(blob: unknown, types: RegExp): string[] {
  if (!isRecord(blob)) return ["inlineData is not an object"];
  const broken = unknownFields(blob, ["mimeType", "data"]);
  if (!types.test(String(blob.mimeType))) broken.push(`Unsupported MIME type: ${String(blob.mimeType)}`);
  if (typeof blob.data !== "string" || blob.data === "" || !BASE64.test(blob.data))
    broken.push("Base64 decoding failed for data");
  return broken;
}

function fileRules(file: unknown, { imageUrls }: GeminiRuleSwitches): string[] {
  if (!isRecord(file) || !imageUrls) return ["Unsupported file uri"];
  const known = /^https?:\/\//.test(String(file.fileUri)) && MEDIA.test(String(file.mimeType));
  return [...unknownFields(file, ["mimeType", "fileUri"]), ...(known ? [] : ["Unsupported file uri"])];
}

function callRules(call: unknown): string[] {
  if (!isRecord(call)) return ["functionCall is not an object"];
  const broken = unknownFields(call, ["id", "name", "args"]);
  if (!NAME.test(String(call.name))) broken.push(`Invalid function name ${String(call.name)}`);
  return isRecord(call.args) ? broken : [...broken, "args are no object"];
}

function responseRules(response: unknown, { third }: GeminiRuleSwitches): string[] {
  if (!isRecord(response)) return ["functionResponse is not an object"];
  const broken = unknownFields(response, ["id", "name", "response", "parts"]);
  if (!NAME.test(String(response.name))) broken.push("function_response.name: Name cannot be empty.");
  if (!isRecord(response.response)) broken.push("a response that is no object");
  if (response.parts === undefined) return broken;
  if (!third || !Array.isArray(response.parts) || response.parts.length === 0)
    return [...broken, "Multimodal function response is not supported by this model"];
  const parts: unknown[] = response.parts;
  return [
    ...broken,
    ...parts.flatMap((part) => blobRules(isRecord(part) ? part.inlineData : null, RESULT_MEDIA)),
  ];
}

const calls = ({ parts }: Content): Fields[] => parts.map((part) => part.functionCall).filter(isRecord);
const answers = ({ parts }: Content): Fields[] => parts.map((part) => part.functionResponse).filter(isRecord);

function turnRules(contents: readonly Content[]): string[] {
  const broken = contents
    .filter(({ role }) => role !== "user" && role !== "model")
    .map(() => "Please use a valid role: user, model.");
  if (contents[0]?.role !== "user") broken.push("the first content is not the user's");
  if (contents.at(-1)?.role !== "user")
    broken.push("Please ensure that multiturn requests end with a user role or a function response.");
  contents.forEach((content, at) => {
    if (calls(content).length > 0 && contents[at - 1]?.role === "model")
      broken.push("Please ensure that function call turn comes immediately after a user turn.");
  });
  return broken;
}

/** As many responses as calls, all in the next content, with the same names and ids in the same order. */
function pairingRules(contents: readonly Content[]): string[] {
  const broken: string[] = [];
  const seen = new Set<unknown>();
  contents.forEach((content, at) => {
    const [called, answered] = [calls(content), answers(content)];
    for (const { id } of called) {
      if (id !== undefined && seen.has(id)) broken.push(`content ${at}: call id ${String(id)} is used twice`);
      seen.add(id);
    }
    const next = contents[at + 1];
    const results = next ? answers(next) : [];
    const same = (list: readonly Fields[]): string => JSON.stringify(list.map(({ id, name }) => [id, name]));
    if (called.length > 0 && same(called) !== same(results))
      broken.push(
        `content ${at}: the number of function response parts is not equal to that of function calls`,
      );
    const before = contents[at - 1];
    if (answered.length > 0 && (!before || calls(before).length === 0))
      broken.push(
        `content ${at}: function response turn does not come immediately after a function call turn`,
      );
    if (answered.length > 0 && answered.length !== content.parts.length)
      broken.push(`content ${at}: responses among other parts`);
  });
  return broken;
}

/** Google looks at the current turn only; ours is stricter, because every turn was once the current one. */
function signatureRules(contents: readonly Content[], { third }: GeminiRuleSwitches): string[] {
  if (!third) return [];
  return contents.flatMap(({ parts }, at) => {
    const first = parts.find((part) => part.functionCall !== undefined);
    return first && first.thoughtSignature === undefined
      ? [`content ${at}: Function call is missing a thought_signature in functionCall parts.`]
      : [];
  });
}
