import { clip as clipText } from "../message/index.js";
import type { Fetch } from "./codec.js";
import { isRecord, parseJson } from "./json.js";

/** A sound to be written down; `mime` as its bytes say. */
export type Clip = { mime: string; bytes: Uint8Array };

/** What it took, as far as the server says. */
export type TranscriptUsage = { inputTokens: number; outputTokens: number; seconds: number | null };
export type Transcript =
  | { ok: true; text: string; usage: TranscriptUsage | null }
  | { ok: false; why: string };

/** Writes down what is said in a clip. Never throws: what went wrong is in the answer. */
export type Transcriber = {
  /** As in `provider/model`: under this name it is in the accounts. */
  name: string;
  /** It costs nothing. What others take is not known, so that a budget of money rules them out. */
  isFree?: boolean;
  transcribe(clip: Clip, signal: AbortSignal): Promise<Transcript>;
};

export type TranscriberOptions = {
  /** With its version: `https://api.openai.com/v1`. */
  baseUrl: string;
  /** The model's id there. */
  id: string;
  apiKey?: string | null;
  provider?: string;
  fetch?: Fetch;
};

/** What runs on one's own machine. */
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** More than OpenAI takes would only be refused there. */
const MOST_BYTES = 25 * 1024 * 1024;
const MOST_ANSWER_BYTES = 4 * 1024 * 1024;
const MOST_ERROR = 200;

/** Servers tell the format by the name's ending. */
const ENDINGS: Readonly<Record<string, string>> = {
  "audio/mpeg": "mp3",
  "audio/mp3": "mp3",
  "audio/wav": "wav",
  "audio/x-wav": "wav",
  "audio/wave": "wav",
  "audio/ogg": "ogg",
  "audio/opus": "ogg",
  "audio/flac": "flac",
  "audio/webm": "webm",
  "audio/mp4": "m4a",
  "audio/m4a": "m4a",
  "audio/x-m4a": "m4a",
  "audio/aac": "aac",
};

/** A transcriber at OpenAI or at any server that has its `/audio/transcriptions`. */
export function transcriber(options: TranscriberOptions): Transcriber {
  const { baseUrl, id, apiKey = null, provider = "openai", fetch = globalThis.fetch } = options;
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/audio/transcriptions`;
  return {
    name: `${provider}/${id}`,
    isFree: LOOPBACK.test(url.hostname),
    async transcribe(clip, signal) {
      if (clip.bytes.length > MOST_BYTES)
        return {
          ok: false,
          why: `it has ${clip.bytes.length} bytes, and at most ${MOST_BYTES} are transcribed`,
        };
      try {
        const headers = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
        const answer = await fetch(url.href, {
          method: "POST",
          headers,
          body: formOf(clip, id),
          redirect: "error",
          signal,
        });
        const text = await limitedText(answer);
        return answer.ok
          ? readAnswer(text)
          : { ok: false, why: withoutKey(refusal(answer.status, text), apiKey) };
      } catch (error) {
        if (signal.aborted) return { ok: false, why: "transcribing it took too long" };
        return {
          ok: false,
          why: withoutKey(`the transcription server did not answer (${words(error)})`, apiKey),
        };
      }
    },
  };
}

function formOf({ mime, bytes }: Clip, model: string): FormData {
  const type = mime.split(";")[0]?.trim().toLowerCase() ?? "";
  const form = new FormData();
  form.set("model", model);
  form.set("response_format", "json");
  form.set("file", new Blob([new Uint8Array(bytes)], { type }), `clip.${ENDINGS[type] ?? "mp3"}`);
  return form;
}

async function limitedText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += chunk.length;
    if (size > MOST_ANSWER_BYTES) throw new Error("its answer is too long");
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** Some servers answer with the bare text whatever format they are asked for. */
function readAnswer(body: string): Transcript {
  const answer = parseJson(body);
  if (!isRecord(answer)) {
    const text = body.trim();
    return text === "" || text.startsWith("<")
      ? { ok: false, why: "the transcription server's answer holds no text" }
      : { ok: true, text, usage: null };
  }
  if (typeof answer.text !== "string")
    return { ok: false, why: "the transcription server's answer holds no text" };
  return { ok: true, text: answer.text.trim(), usage: usageOf(answer.usage) };
}

function usageOf(usage: unknown): TranscriptUsage | null {
  if (!isRecord(usage)) return null;
  const seconds = usage.seconds ?? usage.duration;
  return {
    inputTokens: count(usage.input_tokens),
    outputTokens: count(usage.output_tokens),
    seconds: typeof seconds === "number" && seconds >= 0 ? seconds : null,
  };
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function refusal(status: number, body: string): string {
  const answer = parseJson(body);
  const error = isRecord(answer) ? answer.error : null;
  const message = isRecord(error) ? error.message : error;
  const said = typeof message === "string" ? `: ${clipText(message, MOST_ERROR)}` : "";
  return `the transcription server answered ${status}${said}`;
}

function words(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return clipText(cause instanceof Error ? cause.message : String(cause), MOST_ERROR);
}

/** Servers echo what they were sent. */
function withoutKey(text: string, apiKey: string | null): string {
  return apiKey !== null && apiKey.length >= 4 ? text.replaceAll(apiKey, "[key]") : text;
}
