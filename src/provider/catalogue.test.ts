import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { afterEach, describe, expect, it, test } from "vitest";
import { type CatalogueOptions, catalogue } from "./catalogue.js";
import { readModelFile } from "./modelFile.js";

type Answers = Record<string, unknown | ((request: IncomingMessage, response: ServerResponse) => void)>;

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});

/** A server on this machine that answers some paths with JSON, and all others with 404. */
async function serve(answers: Answers): Promise<{ origin: string; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = [];
  const server = createServer(async (request, response) => {
    asked.push(request);
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(Buffer.from(piece as Uint8Array));
    const body = Buffer.concat(pieces).toString();
    const answer = answers[`${request.url}${body}`] ?? answers[request.url ?? ""];
    if (typeof answer === "function") return answer(request, response);
    response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return { origin: `http://127.0.0.1:${address.port}`, asked };
}

/** Where nothing listens. */
const nobody = "http://127.0.0.1:2";
let time = Date.parse("2026-11-15T12:00:00Z");
const known = (env: Record<string, string>, more: Partial<CatalogueOptions> = {}) =>
  catalogue({ env: { OLLAMA_BASE_URL: `${nobody}/v1`, ...env }, now: () => time, ...more });

async function resolved(name: string, env: Record<string, string>, more: Partial<CatalogueOptions> = {}) {
  const found = await known(env, more).resolve(name);
  if (!found.ok) throw new Error(found.why);
  return found.model;
}

function own(file: unknown): Pick<CatalogueOptions, "own"> {
  const read = readModelFile(file);
  if (!read.ok) throw new Error(JSON.stringify(read.errors));
  return { own: read.own };
}

describe("a model at its vendor's own address", () => {
  it("has the list's price and window, and nobody is asked", async () => {
    const refuse = async () => Promise.reject(new Error("nobody is asked"));
    const model = await resolved("openai/gpt-4.1-mini", { OPENAI_API_KEY: "k" }, { fetch: refuse });
    expect(model).toMatchObject({ window: 1_047_576, maxOutput: 32_768, price: { input: 0.4, output: 1.6 } });
  });

  it("has a window also where the list has none", async () => {
    expect(await resolved("google/gemini-2.5-pro", { GEMINI_API_KEY: "k" })).toMatchObject({
      window: 1_048_576,
      price: { input: 1.25, above: [{ tokens: 200_000, input: 2.5 }] },
    });
  });

  it("that nobody knows costs nobody knows what", async () => {
    expect(await resolved("openai/gpt-999", { OPENAI_API_KEY: "k" })).toMatchObject({ price: null });
  });
});

describe("what a server says of itself is believed", () => {
  it.each([
    ["vLLM", { id: "m", max_model_len: 32_768 }, { window: 32_768, price: null }],
    ["Groq", { id: "m", context_window: 131_072, max_completion_tokens: 8192 }, { maxOutput: 8192 }],
    ["Mistral", { id: "m", max_context_length: 131_072, capabilities: { vision: false } }, { images: false }],
    [
      "OpenRouter",
      {
        id: "m",
        context_length: 200_000,
        architecture: { input_modalities: ["text", "image", "audio"] },
        top_provider: { context_length: 128_000, max_completion_tokens: 16_000 },
        pricing: { prompt: "0.0000004", completion: "0.0000016", input_cache_read: "0.0000001" },
      },
      {
        window: 128_000,
        maxOutput: 16_000,
        images: true,
        audio: true,
        price: { input: 0.4, output: 1.6, cacheRead: 0.1, cacheWrite: 0.4 },
      },
    ],
    [
      "a router whose price varies",
      { id: "m", pricing: { prompt: "-1", completion: "-1" } },
      { window: null, price: null },
    ],
  ])("%s", async (_, entry, expected) => {
    const { origin } = await serve({ "/v1/models": { data: [entry] } });
    const { quirks, ...model } = await resolved("openai/m", { OPENAI_BASE_URL: `${origin}/v1` });
    expect({ ...model, images: quirks.images, audio: quirks.audio }).toMatchObject(expected);
  });

  it("llama.cpp: as much as it was started with, not what the model was taught to read", async () => {
    const { origin } = await serve({
      "/v1/models": { data: [{ id: "m", owned_by: "llamacpp", meta: { n_ctx_train: 131_072 } }] },
      "/props": { default_generation_settings: { n_ctx: 4096 }, modalities: { vision: true, audio: false } },
    });
    expect(await resolved("openai/m", { OPENAI_BASE_URL: `${origin}/v1` })).toMatchObject({ window: 4096 });
  });

  it("Ollama: what is loaded, or what the model's file says, and what it takes; it costs nothing", async () => {
    const { origin } = await serve({
      "/v1/models": { data: [{ id: "llama3.2:latest" }, { id: "gemma3" }, { id: "qwen3" }] },
      "/api/ps": { models: [{ name: "qwen3", context_length: 8192 }] },
      '/api/show{"model":"gemma3"}': { parameters: "stop x\nnum_ctx    16384", capabilities: ["vision"] },
      '/api/show{"model":"qwen3"}': {
        parameters: "num_ctx 4096",
        capabilities: ["tools", "thinking"],
        model_info: { "qwen3.context_length": 40_960 },
      },
    });
    const env = { OLLAMA_BASE_URL: `${origin}/v1` };
    expect(await resolved("ollama/gemma3", env)).toMatchObject({ window: 16_384, quirks: { images: true } });
    expect(await resolved("ollama/qwen3", env)).toMatchObject({ window: 8192, quirks: { images: false } });
    expect(await resolved("ollama/llama3.2:latest", env)).toMatchObject({
      window: null,
      price: { input: 0, output: 0 },
    });
  });

  it("Anthropic's and Google's spelling at another address, with the key in its own header", async () => {
    const { origin, asked } = await serve({
      "/v1/models?limit=1000": { data: [{ id: "c", max_input_tokens: 9000, max_tokens: 800 }] },
      "/v1beta/models?pageSize=1000": {
        models: [
          { name: "models/g", inputTokenLimit: 7000, supportedGenerationMethods: ["generateContent"] },
        ],
      },
    });
    const env = {
      ANTHROPIC_BASE_URL: origin,
      ANTHROPIC_API_KEY: "key-a",
      GEMINI_BASE_URL: origin,
      GEMINI_API_KEY: "key-g",
    };
    expect(await resolved("anthropic/c", env)).toMatchObject({ window: 9000, maxOutput: 800 });
    expect(await resolved("google/g", env)).toMatchObject({ window: 7000 });
    expect(asked.map(({ headers }) => headers["x-api-key"] ?? headers["x-goog-api-key"])).toEqual([
      "key-a",
      "key-g",
    ]);
  });

  it("once a minute, however often it is needed, and again after that", async () => {
    const { origin, asked } = await serve({ "/v1/models": { data: [{ id: "m", max_model_len: 10 }] } });
    const { resolve } = known({ OPENAI_BASE_URL: `${origin}/v1` });
    await Promise.all([resolve("openai/m"), resolve("openai/m"), resolve("openai/other")]);
    expect(asked).toHaveLength(1);
    time += 60_000;
    await resolve("openai/m");
    expect(asked).toHaveLength(2);
  });

  it("one that falls silent holds nothing up for longer than it may", async () => {
    const { origin } = await serve({ "/v1/models": () => {} });
    const model = await resolved("openai/m", { OPENAI_BASE_URL: `${origin}/v1` }, { askMs: 50 });
    expect(model).toMatchObject({ id: "m", window: null, price: null });
  });

  it("one that sends the caller elsewhere is not followed: the key stays here", async () => {
    const elsewhere = await serve({ "/v1/models": { data: [{ id: "m", max_model_len: 10 }] } });
    const { origin } = await serve({
      "/v1/models": (_: IncomingMessage, response: ServerResponse) =>
        response.writeHead(302, { location: `${elsewhere.origin}/v1/models` }).end(),
    });
    const env = { OPENAI_BASE_URL: `${origin}/v1`, OPENAI_API_KEY: "key" };
    expect(await resolved("openai/m", env)).toMatchObject({ window: null });
    expect(elsewhere.asked).toEqual([]);
  });
});

describe("the owner's file", () => {
  it("goes before the list and before what a server says; the longest name first", async () => {
    const { origin } = await serve({ "/v1/models": { data: [{ id: "m", max_model_len: 10 }] } });
    const file = own({
      "openai/*": { window: 5000, images: false, price: { input: 1, output: 2 } },
      "openai/gpt-4.1-mini": { price: { input: 3, output: 4, cache_read: 0.5, cache_write_long: 9 } },
    });
    expect(await resolved("openai/m", { OPENAI_BASE_URL: `${origin}/v1` }, file)).toMatchObject({
      window: 5000,
      quirks: { images: false },
      price: { input: 1, output: 2, cacheRead: 1, cacheWrite: 1 },
    });
    expect(await resolved("openai/gpt-4.1-mini", { OPENAI_API_KEY: "k" }, file)).toMatchObject({
      window: 5000,
      price: { input: 3, output: 4, cacheRead: 0.5, cacheWrite: 3, longCacheWrite: 9 },
    });
  });

  it.each([
    [{ "gpt-4.1": {} }, '["gpt-4.1"]', "expected provider/model"],
    [{ "openai/m": { price: { input: -1, output: 1 } } }, '["openai/m"].price.input', "0"],
    [{ "openai/m": { price: { input: 1 } } }, '["openai/m"].price.output', ""],
    [{ "openai/m": { windov: 1 } }, '["openai/m"].windov', "no such field"],
    [[], "", ""],
  ])("%j is refused, by the name of the field", (file, path, reason) => {
    const read = readModelFile(file);
    expect(read).toMatchObject({ ok: false });
    const [error] = read.ok ? [] : read.errors;
    expect(error?.path).toContain(path);
    expect(error?.reason).toContain(reason);
  });
});

describe("the list of what can be used", () => {
  it("names the default and why, what servers have, and what is missing for the rest", async () => {
    const { origin } = await serve({
      "/v1/models": { data: [{ id: "qwen3", max_model_len: 32_768 }, { id: "nomic-embed-text" }] },
    });
    const env = { OPENAI_BASE_URL: `${origin}/v1`, ANTHROPIC_API_KEY: "sk-ant-secret" };
    const { list, chosen } = known(env);
    const listed = await list(await chosen());
    expect(listed.map(({ name, default: first, available }) => [name, first, available])).toEqual([
      ["anthropic/claude-haiku-5-5", true, true],
      ["openai/qwen3", false, true],
      ["google/gemini-flash-latest", false, false],
      ["ollama/<model>", false, false],
      ["bedrock/<model>", false, false],
      ["demo/demo", false, true],
    ]);
    expect(listed[0]).toMatchObject({ note: "ANTHROPIC_API_KEY is set", window: 1_000_000, images: true });
    expect(listed[0]?.price).toMatchObject({ input: 0.1, above: [{ tokens: 100_000, input: 0.5 }] });
    expect(listed[1]).toMatchObject({ window: 32_768, price: null, note: null });
    expect(listed[2]?.note).toContain("GEMINI_API_KEY=<your key>");
    expect(listed[3]?.note).toContain("nothing listens there. Start it with `ollama serve`");
    expect(listed.at(-1)).toMatchObject({ price: { input: 0, output: 0 }, tools: true });
    expect(JSON.stringify(listed)).not.toContain("secret");
  });

  it("says so where a server refuses, and never with the key", async () => {
    const { origin } = await serve({
      "/v1/models": (_: IncomingMessage, response: ServerResponse) =>
        response.writeHead(401).end("no, sk-secret"),
    });
    const env = { OPENAI_BASE_URL: `${origin}/v1`, OPENAI_API_KEY: "sk-secret" };
    const listed = await known(env).list(null);
    expect(listed[0]).toMatchObject({ name: "openai/<model>", available: false });
    expect(listed[0]?.note).toContain("it answered 401. Name one: LONGHAND_MODEL=openai/<its id>");
    expect(JSON.stringify(listed)).not.toContain("secret");
  });

  it("says nothing of what stands behind a question mark in an address", async () => {
    const [first] = await known({ OPENAI_BASE_URL: `${nobody}/v1?key=secret` }).list(null);
    expect(first?.note).toContain("nothing listens there");
    expect(first?.note).not.toContain("secret");
  });

  it("tells what holds now of a price that changes", async () => {
    const before = Date.parse("2025-06-01T00:00:00Z");
    const env = { OPENAI_API_KEY: "k", OPENAI_MODEL: "o3" };
    const [then] = await known(env, { now: () => before }).list({ name: "openai/o3", why: "" });
    const [now] = await known(env).list({ name: "openai/o3", why: "" });
    expect([then?.price?.input, now?.price?.input]).toEqual([10, 2]);
  });
});

describe("the model to start with", () => {
  it("an address alone is enough where its server says which models it has", async () => {
    const { origin } = await serve({ "/v1/models": { data: [{ id: "bge-m3" }, { id: "a" }, { id: "b" }] } });
    expect(await known({ OPENAI_BASE_URL: `${origin}/v1` }).chosen()).toMatchObject({ name: "openai/a" });
    expect(await known({ OLLAMA_BASE_URL: `${origin}/v1` }).chosen()).toMatchObject({ name: "ollama/a" });
  });

  test.each([
    [{ OPENAI_BASE_URL: `${nobody}/v1` }, "demo/demo", "set LONGHAND_MODEL=openai/<its id>"],
    [{ OPENAI_BASE_URL: `${nobody}/v1`, OPENAI_MODEL: "m" }, "openai/m", "OPENAI_BASE_URL and OPENAI_MODEL"],
    [{ LONGHAND_MODEL: "demo/demo", OPENAI_BASE_URL: `${nobody}/v1` }, "demo/demo", "LONGHAND_MODEL says so"],
    [{ OLLAMA_MODEL: "llama3.2" }, "ollama/llama3.2", "OLLAMA_MODEL is set"],
    [{}, "demo/demo", "no model is configured"],
  ])("%j: %s", async (env, name, why) => {
    expect(await known(env).chosen()).toEqual({ name, why: expect.stringContaining(why) });
  });
});

test("a server that did not list its models is asked again sooner than one that did", async () => {
  let up = false;
  const { origin, asked } = await serve({
    "/v1/models": (_request: IncomingMessage, response: ServerResponse) =>
      response.writeHead(up ? 200 : 503).end('{"data":[{"id":"late"}]}'),
  });
  const { chosen } = known({ OPENAI_BASE_URL: `${origin}/v1` });
  expect((await chosen()).name).toBe("demo/demo");
  up = true;
  expect((await chosen()).name).toBe("demo/demo");
  expect(asked).toHaveLength(1);
  time += 11_000;
  expect((await chosen()).name).toBe("openai/late");
  time += 11_000;
  await chosen();
  expect(asked).toHaveLength(2);
});
