import type { ModelFacts, Price } from "./codec.js";
import { isRecord } from "./json.js";

/**
 * What a server says about a model, whatever it calls it: OpenRouter, vLLM, Mistral, Groq, LM Studio, Anthropic,
 * Google; Ollama's `show` and `ps`; llama.cpp's `props`. What it does not say is absent. How long a model could be
 * taught to read (`n_ctx_train`, `model_info`) is not how much this server lets it read, and is left alone.
 */
export function toldFacts(entry: unknown): Partial<ModelFacts> {
  if (!isRecord(entry)) return {};
  const provider = record(entry.top_provider);
  const told: Partial<ModelFacts> = {
    window: windowOf(entry, provider),
    maxOutput: firstCount([
      provider.max_completion_tokens,
      entry.max_completion_tokens,
      entry.max_tokens,
      entry.outputTokenLimit,
      entry.max_output_tokens,
    ]),
    ...capabilitiesOf(entry),
    price: priceOf(record(entry.pricing)),
  };
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== null));
}

function windowOf(entry: Record<string, unknown>, provider: Record<string, unknown>): number | null {
  return firstCount([
    entry.loaded_context_length,
    provider.context_length,
    entry.context_length,
    entry.context_window,
    entry.max_model_len,
    entry.max_context_length,
    entry.max_input_tokens,
    entry.inputTokenLimit,
    record(entry.default_generation_settings).n_ctx,
    parameterOf(entry.parameters, "num_ctx"),
  ]);
}

/** Ollama gives the parameters of a model as lines of text. */
function parameterOf(parameters: unknown, name: string): number | null {
  if (typeof parameters !== "string") return null;
  const found = new RegExp(`^${name}\\s+(\\d+)`, "m").exec(parameters);
  return found ? Number(found[1]) : null;
}

type Capabilities = Pick<ModelFacts, "images" | "audio" | "pdf" | "thinking" | "tools">;

function capabilitiesOf(entry: Record<string, unknown>): Capabilities {
  const modalities = listOf(record(entry.architecture).input_modalities);
  const parameters = listOf(entry.supported_parameters);
  const named = listOf(entry.capabilities);
  const capabilities = record(entry.capabilities);
  const senses = record(entry.modalities);
  return {
    images:
      has(modalities, "image") ??
      has(named, "vision") ??
      flag(capabilities.vision, capabilities.image_input, senses.vision) ??
      (entry.type === "vlm" ? true : null),
    audio: has(modalities, "audio") ?? flag(capabilities.audio, senses.audio),
    pdf: has(modalities, "file") ?? flag(capabilities.pdf_input),
    thinking:
      has(parameters, "reasoning") ?? has(named, "thinking") ?? flag(entry.thinking, capabilities.thinking),
    tools: has(parameters, "tools") ?? has(named, "tools") ?? flag(capabilities.function_calling),
  };
}

/** OpenRouter tells US dollars for one token, as text; less than nothing stands for a price that varies. */
function priceOf(pricing: Record<string, unknown>): Price | null {
  const [input, output] = [perMillion(pricing.prompt), perMillion(pricing.completion)];
  if (input === null || output === null || (perMillion(pricing.request) ?? 0) > 0) return null;
  return {
    input,
    output,
    cacheRead: perMillion(pricing.input_cache_read) ?? input,
    cacheWrite: perMillion(pricing.input_cache_write) ?? input,
  };
}

function perMillion(told: unknown): number | null {
  const dollars = typeof told === "string" && told.trim() !== "" ? Number(told) : Number.NaN;
  return dollars >= 0 && Number.isFinite(dollars) ? Number((dollars * 1_000_000).toPrecision(12)) : null;
}

function firstCount(values: readonly unknown[]): number | null {
  for (const value of values)
    if (typeof value === "number" && Number.isInteger(value) && value > 0) return value;
  return null;
}

/** `true`, or Anthropic's `{ supported: true }`. */
function flag(...values: readonly unknown[]): boolean | null {
  for (const value of values) {
    const told = isRecord(value) ? value.supported : value;
    if (typeof told === "boolean") return told;
  }
  return null;
}

function has(list: readonly unknown[] | null, word: string): boolean | null {
  return list === null ? null : list.includes(word);
}

function listOf(value: unknown): unknown[] | null {
  return Array.isArray(value) ? value : null;
}

function record(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
