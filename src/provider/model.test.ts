import { expect, test } from "vitest";
import { defaultModelName, model, resolveModel } from "./model.js";

test.each([
  ["demo/demo", {}, { provider: "demo", api: "demo", id: "demo", apiKey: null, delayMs: 15 }],
  ["demo/demo", { LONGHAND_DEMO_DELAY_MS: "0" }, { delayMs: 0 }],
  [
    "openai/gpt-4.1",
    { OPENAI_API_KEY: " sk-1 " },
    {
      provider: "openai",
      api: "openai-responses",
      id: "gpt-4.1",
      baseUrl: "https://api.openai.com/v1",
      apiKey: "sk-1",
    },
  ],
  [
    "openai/qwen/qwen3",
    { OPENAI_BASE_URL: "http://127.0.0.1:8080/v1" },
    { api: "openai-chat", id: "qwen/qwen3", baseUrl: "http://127.0.0.1:8080/v1", apiKey: null },
  ],
  [
    "anthropic/claude-opus-5",
    { ANTHROPIC_API_KEY: "sk-ant" },
    {
      provider: "anthropic",
      api: "anthropic",
      id: "claude-opus-5",
      baseUrl: "https://api.anthropic.com",
      apiKey: "sk-ant",
      quirks: { midSystem: "system" },
    },
  ],
  [
    "anthropic/claude-opus-5",
    { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" },
    { api: "anthropic", baseUrl: "http://127.0.0.1:9", apiKey: null, quirks: { midSystem: "user" } },
  ],
  [
    "openai-chat/gpt",
    { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "" },
    { provider: "openai", api: "openai-chat", baseUrl: "https://api.openai.com/v1" },
  ],
  [
    "google/gemini-3-flash",
    { GEMINI_API_KEY: " k " },
    {
      provider: "google",
      api: "gemini",
      id: "gemini-3-flash",
      baseUrl: "https://generativelanguage.googleapis.com/v1beta",
      apiKey: "k",
    },
  ],
  [
    "gemini/x",
    { GEMINI_BASE_URL: "http://127.0.0.1:8080" },
    { provider: "google", api: "gemini", baseUrl: "http://127.0.0.1:8080", apiKey: null },
  ],
  [
    "openai-responses/gpt-oss",
    { OPENAI_BASE_URL: "http://127.0.0.1:1234/v1" },
    { provider: "openai", api: "openai-responses", baseUrl: "http://127.0.0.1:1234/v1", apiKey: null },
  ],
  [
    "openai-responses/gpt-5",
    { OPENAI_API_KEY: "k" },
    { provider: "openai", api: "openai-responses", baseUrl: "https://api.openai.com/v1" },
  ],
  ["ollama/llama3.2", {}, { provider: "ollama", baseUrl: "http://127.0.0.1:11434/v1", apiKey: null }],
  [
    "ollama/llama3.2",
    { OLLAMA_BASE_URL: "http://box:1/v1", OLLAMA_API_KEY: "k" },
    { baseUrl: "http://box:1/v1", apiKey: "k" },
  ],
])("%s with %j", (name, env, expected) => {
  expect(resolveModel(name, env)).toMatchObject({ ok: true, model: expected });
});

test.each([
  ["gpt-4", {}, "provider/model"],
  ["/x", {}, "provider/model"],
  ["openai/", {}, "provider/model"],
  ["openai/gpt", {}, "OPENAI_API_KEY="],
  ["anthropic/claude", {}, "ANTHROPIC_API_KEY="],
  ["openai/gpt", { OPENAI_BASE_URL: "localhost:8080" }, "OPENAI_BASE_URL must be an http(s) address"],
  ["openai/gpt", { OPENAI_BASE_URL: "http://me:secret@box/v1" }, "must not hold a name or password"],
  ["google/x", {}, "GEMINI_API_KEY="],
  ["google/x", { GEMINI_BASE_URL: "nowhere" }, "GEMINI_BASE_URL must be an http(s) address"],
  ["demo/other", {}, "demo/demo"],
  ["demo/demo", { LONGHAND_DEMO_DELAY_MS: "fast" }, "milliseconds"],
  ["acme/x", {}, 'no provider "acme"'],
])("%s with %j says what to type", (name, env, words) => {
  const resolved = resolveModel(name, env);
  expect(resolved).toMatchObject({ ok: false, why: expect.stringContaining(words) });
  expect(JSON.stringify(resolved)).not.toContain("secret");
});

test.each([
  [{}, "demo/demo", "offline demo"],
  [{ LONGHAND_MODEL: "ollama/x", OPENAI_API_KEY: "k" }, "ollama/x", "LONGHAND_MODEL"],
  [{ OPENAI_API_KEY: "k" }, "openai/gpt-4.1-mini", "OPENAI_API_KEY is set"],
  [{ OPENAI_API_KEY: "k", OPENAI_MODEL: "gpt-5" }, "openai/gpt-5", "OPENAI_MODEL"],
  [{ OPENAI_BASE_URL: "http://b/v1", OPENAI_MODEL: "m" }, "openai/m", "OPENAI_BASE_URL and OPENAI_MODEL"],
  [{ ANTHROPIC_API_KEY: "k" }, "anthropic/claude-haiku-5-5", "ANTHROPIC_API_KEY is set"],
  [{ ANTHROPIC_API_KEY: "k", OPENAI_BASE_URL: "http://b/v1" }, "anthropic/claude-haiku-5-5", "ANTHROPIC"],
  [{ GEMINI_API_KEY: "k" }, "google/gemini-flash-latest", "GEMINI_API_KEY is set"],
  [{ GEMINI_BASE_URL: "http://b", GEMINI_MODEL: "m" }, "google/m", "GEMINI_BASE_URL and GEMINI_MODEL"],
  [{ ANTHROPIC_BASE_URL: "http://b" }, "demo/demo", "set LONGHAND_MODEL=anthropic/<its id>"],
  [{ OPENAI_BASE_URL: "http://b/v1" }, "demo/demo", "set LONGHAND_MODEL=openai/<its id>"],
])("with %j the model is %s", (env, name, why) => {
  expect(defaultModelName(env)).toEqual({ name, why: expect.stringContaining(why) });
});

test("servers are known by their address, and what is said outright goes before it", () => {
  const at = (baseUrl: string, quirks = {}) => model({ api: "openai-chat", id: "x", baseUrl, quirks }).quirks;
  expect(at("https://api.openai.com/v1")).toMatchObject({
    maxTokensField: "max_completion_tokens",
    midSystem: "system",
  });
  expect(at("http://127.0.0.1:1/v1")).toMatchObject({ maxTokensField: "max_tokens", midSystem: "user" });
  expect(at("https://api.openai.com.evil.org/v1")).toMatchObject({ maxTokensField: "max_tokens" });
  expect(at("https://api.mistral.ai/v1", { toolCallIds: "upTo40" })).toMatchObject({
    toolCallIds: "upTo40",
    toolResultName: true,
  });
});

test("an address that is none is a mistake in code", () => {
  expect(() => model({ api: "openai-chat", id: "x", baseUrl: "nowhere" })).toThrow(/http\(s\) address/);
});
