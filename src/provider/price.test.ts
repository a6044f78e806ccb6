import { calcPrice } from "@pydantic/genai-prices";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { Usage, UserMessage } from "../message/index.js";
import { chunk, eventStream } from "../testing/chatCompletionsServer.js";
import { usageReader } from "./anthropicUsage.js";
import { call } from "./call.js";
import type { Price } from "./codec.js";
import { model } from "./model.js";
import { readUsage } from "./openaiChatUsage.js";
import { priced, ratesAt } from "./price.js";
import { priceList } from "./priceList.js";

const NOW = Date.parse("2026-11-15T12:00:00Z");

async function listed(baseUrl: string, id: string): Promise<Price> {
  const { price } = (await priceList())(baseUrl, id);
  if (!price) throw new Error(`${id} has no price`);
  return price;
}

const used = (tokens: Partial<Usage>): Usage => ({ ...Usage.none(), ...tokens });

describe("what a call costs, by hand", () => {
  it("Anthropic: what is read from the cache and written to it, each at its own rate", async () => {
    const price = await listed("https://api.anthropic.com", "claude-opus-4-8");
    const usage = used({
      inputTokens: 1000,
      outputTokens: 2000,
      cacheReadTokens: 100_000,
      cacheWriteTokens: 10_000,
    });
    // $5 in, $25 out, $0.50 read, $6.25 written, for a million.
    expect(priced(usage, price, NOW).cost).toEqual({
      input: 0.005,
      output: 0.05,
      cacheRead: 0.05,
      cacheWrite: 0.0625,
      total: 0.005 + 0.05 + 0.05 + 0.0625,
    });
  });

  it("Anthropic: what is kept for an hour costs twice the input", async () => {
    const price = await listed("https://api.anthropic.com", "claude-opus-4-8");
    const usage = used({ cacheWriteTokens: 10_000, longCacheWriteTokens: 4000 });
    // 6,000 at $6.25 and 4,000 at $10.
    expect(priced(usage, price, NOW).cost?.cacheWrite).toBeCloseTo(0.0375 + 0.04, 12);
  });

  it("OpenAI: cached input at its own rate, and not a second time as input", async () => {
    const price = await listed("https://api.openai.com/v1", "gpt-4.1-mini");
    const usage = used({ inputTokens: 2000, cacheReadTokens: 8000, outputTokens: 500 });
    // $0.40 in, $0.10 cached, $1.60 out.
    expect(priced(usage, price, NOW).cost).toMatchObject({
      input: 0.0008,
      cacheRead: 0.0008,
      output: 0.0008,
    });
  });

  it("Gemini: a request of more than 200,000 tokens costs more, also for what was cached and for the answer", async () => {
    const price = await listed("https://generativelanguage.googleapis.com/v1beta", "gemini-2.5-pro");
    const short = used({ inputTokens: 100_000, cacheReadTokens: 100_000, outputTokens: 1000 });
    const long = { ...short, inputTokens: 100_001 };
    // $1.25 / $0.125 / $10, above $2.50 / $0.25 / $15.
    expect(priced(short, price, NOW).cost).toMatchObject({ input: 0.125, cacheRead: 0.0125, output: 0.01 });
    expect(priced(long, price, NOW).cost).toMatchObject({
      input: 0.2500025,
      cacheRead: 0.025,
      output: 0.015,
    });
  });

  it("o3: what it cost before the day its price fell, and since", async () => {
    const price = await listed("https://api.openai.com/v1", "o3");
    const usage = used({ inputTokens: 1_000_000, outputTokens: 1_000_000 });
    expect(priced(usage, price, Date.parse("2025-06-09T23:59:59Z")).cost?.total).toBe(50);
    expect(priced(usage, price, Date.parse("2025-06-10T00:00:00Z")).cost?.total).toBe(10);
  });

  it("DeepSeek: cheaper outside of its busy hours", async () => {
    const price = await listed("https://api.deepseek.com", "deepseek-chat");
    const usage = used({ inputTokens: 1_000_000 });
    expect(priced(usage, price, Date.parse("2026-11-15T00:29:59Z")).cost?.input).toBe(0.135);
    expect(priced(usage, price, Date.parse("2026-11-15T00:30:00Z")).cost?.input).toBe(0.27);
    expect(priced(usage, price, Date.parse("2026-11-15T16:30:00Z")).cost?.input).toBe(0.135);
  });

  it("Claude Haiku 5.5, which the list does not know yet, by our own figures, at Anthropic alone", () => {
    const own = model({ api: "anthropic", id: "claude-haiku-5-5" });
    const usage = used({ inputTokens: 100_000, outputTokens: 1000 });
    expect(priced(usage, own.price, NOW).cost?.total).toBeCloseTo(0.01 + 0.0005, 12);
    expect(priced({ ...usage, inputTokens: 100_001 }, own.price, NOW).cost?.total).toBeCloseTo(0.0525005, 12);
    expect(
      model({ api: "anthropic", id: "claude-haiku-5-5", baseUrl: "http://127.0.0.1:1" }).price,
    ).toBeNull();
  });
});

test("hours that pass midnight hold on both sides of it", () => {
  const day: Price = { input: 2, output: 2, cacheRead: 2, cacheWrite: 2 };
  const night = { ...day, input: 1 };
  const price: Price = { ...day, when: [{ hours: [22 * 3600, 6 * 3600], price: night }] };
  const inputAt = (time: string) => ratesAt(price, Date.parse(`2026-11-15T${time}Z`), 1).input;
  expect(["21:59:59", "22:00:00", "05:59:59", "06:00:00"].map(inputAt)).toEqual([2, 1, 1, 2]);
});

test("what a server says it cost stays, and an unknown price is no price", async () => {
  const price = await listed("https://api.openai.com/v1", "gpt-4.1-mini");
  const told = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, total: 3 };
  expect(priced(used({ inputTokens: 10, cost: told }), price, NOW).cost).toEqual(told);
  expect(priced(used({ inputTokens: 10 }), null, NOW).cost).toBeNull();
});

test.each([
  ["http://127.0.0.1:8080/v1", "gpt-4.1-mini"],
  ["https://my-proxy.example/v1", "gpt-4.1-mini"],
  ["https://api.openai.com.evil.example/v1", "gpt-4.1-mini"],
  ["https://evil.example/x.googleapis.com", "gemini-2.5-pro"],
  ["https://api.openai.com/v1", "a-model-nobody-knows"],
  ["https://api.openai.com/v1", "text-embedding-3-small"],
  ["https://api.perplexity.ai", "sonar"],
])("%s has no price for %s: where and what must both be known", async (baseUrl, id) => {
  expect((await priceList())(baseUrl, id).price ?? null).toBeNull();
});

const PLACES = [
  ["https://api.anthropic.com", "anthropic", "claude-sonnet-4-5"],
  ["https://api.anthropic.com", "anthropic", "claude-opus-4-6"],
  ["https://api.openai.com/v1", "openai", "gpt-5.2"],
  ["https://api.openai.com/v1", "openai", "o3"],
  ["https://generativelanguage.googleapis.com", "google", "gemini-3.1-pro-preview"],
  ["https://generativelanguage.googleapis.com", "google", "gemini-3.8-flash"],
  ["https://api.deepseek.com", "deepseek", "deepseek-reasoner"],
  ["https://openrouter.ai/api/v1", "openrouter", "openai/gpt-4o"],
  ["https://bedrock-runtime.us-east-1.amazonaws.com", "aws", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"],
  ["https://api.mistral.ai/v1", "mistral", "mistral-large-latest"],
] as const;

const count = fc.oneof(fc.nat(1000), fc.nat(1_000_000_000));

test("for any usage at any time: no class is less than nothing, they add up to the total, and the list's own sum is the same", async () => {
  const find = await priceList();
  fc.assert(
    fc.property(
      fc.constantFrom(...PLACES),
      fc.record({ i: count, o: count, r: count, w: count, long: fc.nat(1000) }),
      fc.date({ min: new Date("2024-01-01"), max: new Date("2028-01-01"), noInvalidDate: true }),
      ([baseUrl, providerId, id], { i, o, r, w, long }, at) => {
        const usage = used({
          inputTokens: i,
          outputTokens: o,
          cacheReadTokens: r,
          cacheWriteTokens: w,
          longCacheWriteTokens: Math.min(long, w),
        });
        const { cost, ...classes } = priced(usage, find(baseUrl, id).price ?? null, at.getTime());
        if (!cost) throw new Error(`${id} has no price`);
        const { total, ...parts } = cost;
        for (const part of Object.values(parts)) expect(part).toBeGreaterThanOrEqual(0);
        expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(total, 9);
        expect({ ...classes, cost: null }).toEqual(usage);
        const theirs = calcPrice(
          {
            input_tokens: i + r + w,
            output_tokens: o,
            cache_read_tokens: r,
            cache_write_tokens: w,
            cache_write_1h_tokens: Math.min(long, w),
          },
          id,
          { providerId, timestamp: at },
        );
        expect(total / (theirs?.total_price || 1)).toBeCloseTo(theirs?.total_price ? 1 : 0, 9);
      },
    ),
    { numRuns: 500 },
  );
});

describe("what servers tell of money and of long cache writes", () => {
  it("OpenRouter's own figure stands, with the vendor's share where the key is one's own", () => {
    const told = { prompt_tokens: 10, completion_tokens: 5, cost: 0.02 };
    expect(readUsage(told).cost).toEqual({
      input: 0,
      output: 0.02,
      cacheRead: 0,
      cacheWrite: 0,
      total: 0.02,
    });
    const details = { upstream_inference_cost: 0.3, upstream_inference_prompt_cost: 0.1 };
    expect(readUsage({ ...told, is_byok: true, cost_details: details }).cost).toMatchObject({
      input: 0.1,
      total: 0.32,
    });
  });

  it("Perplexity's too; what is no sum of money is none", () => {
    const cost = {
      input_tokens_cost: 0.001,
      output_tokens_cost: 0.002,
      request_cost: 0.005,
      total_cost: 0.008,
    };
    expect(readUsage({ cost }).cost).toMatchObject({ input: 0.001, output: 0.007, total: 0.008 });
    for (const nonsense of [-1, Number.NaN, "3", null, {}])
      expect(readUsage({ cost: nonsense }).cost).toBeNull();
  });

  it("Anthropic's long cache writes are part of all of them", () => {
    const reader = usageReader();
    const cache_creation = { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 40 };
    reader.take({ input_tokens: 1, cache_creation_input_tokens: 140, cache_creation });
    expect(reader.total()).toMatchObject({ cacheWriteTokens: 140, longCacheWriteTokens: 40 });
  });
});

test("a call is paid for at the price of the moment it is answered", async () => {
  const o3 = model({ api: "openai-chat", id: "o3", price: await listed("https://api.openai.com/v1", "o3") });
  const body = eventStream([
    chunk({ content: "Hi" }),
    chunk({}, "stop"),
    { choices: [], usage: { prompt_tokens: 1_000_000, completion_tokens: 0 } },
  ]);
  const costAt = async (time: string) => {
    const options = { fetch: async () => new Response(body), now: () => Date.parse(time) };
    for await (const event of call(o3, { messages: [UserMessage.text("hi")] }, options))
      if (event.type === "done") return event.message.usage.cost?.total;
    return undefined;
  };
  expect(await costAt("2025-06-09T12:00:00Z")).toBe(10);
  expect(await costAt("2025-06-10T12:00:00Z")).toBe(2);
});
