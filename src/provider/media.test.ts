import fc from "fast-check";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import {
  ImageContent,
  type LLMMessage,
  ToolMessage,
  ToolResultContent,
  UserMessage,
} from "../message/index.js";
import { mediaIn, mediaRules } from "../testing/mediaRules.js";
import { encode, encodeMemory } from "./call.js";
import { APIS, type Model } from "./codec.js";
import { COMMON_IMAGE, mediaLimitsOf, takesAddress } from "./mediaLimits.js";
import { imageSize } from "./mediaSize.js";
import { model } from "./model.js";

const anthropic = model({ api: "anthropic", id: "claude-sonnet-5" });
const chat = model({ api: "openai-chat", id: "gpt-audio", baseUrl: "https://api.openai.com/v1" });
const responses = model({ api: "openai-responses", id: "gpt-5" });
const gemini = model({ api: "gemini", id: "gemini-3-flash-preview" });
const local = model({ api: "openai-chat", id: "gemma3", baseUrl: "http://127.0.0.1:11434/v1" });
const bedrock = model({
  api: "bedrock",
  id: "anthropic.claude-sonnet-4-5-20250929-v1:0",
  baseUrl: "https://bedrock-runtime.us-east-1.amazonaws.com",
});
const VENDORS: [Model, Parameters<typeof mediaRules>[0]][] = [
  [anthropic, "anthropic"],
  [chat, "openai"],
  [responses, "openai"],
  [gemini, "gemini"],
  [local, "openai"],
  [bedrock, "bedrock"],
];

/** What looks like a PNG of this size: enough for whoever reads its first bytes. */
function png(width: number, height = width, bytes = 40): Uint8Array {
  const made = new Uint8Array(bytes);
  made.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  new DataView(made.buffer).setUint32(16, width);
  new DataView(made.buffer).setUint32(20, height);
  return made;
}
const wav = (bytes: number) => {
  const made = new Uint8Array(Math.max(bytes, 12));
  made.set(new TextEncoder().encode("RIFF0000WAVE"));
  return made;
};
const said = (id: string, ...images: (string | Uint8Array)[]): UserMessage =>
  UserMessage.of([ImageContent.of(...images)], { id, timestamp: 0 });
const bodyOf = (on: Model, messages: LLMMessage[]): unknown => JSON.parse(encode(on, { messages }).body);
const pictures = (on: Model, messages: LLMMessage[]) => mediaIn(bodyOf(on, messages)).length;
const lines = (on: Model, messages: LLMMessage[]) =>
  encode(on, { messages }).body.match(/\[(An image|A sound clip) was here: [^\]]*\]/g) ?? [];

describe("what an API takes", () => {
  it("is wide enough everywhere for the form in which pictures are kept", () => {
    for (const [on] of VENDORS) {
      const { image } = mediaLimitsOf(on);
      for (const type of COMMON_IMAGE.types) expect(image?.types).toContain(type);
      expect(COMMON_IMAGE.bytes).toBeLessThanOrEqual(image?.bytes ?? 0);
      expect(COMMON_IMAGE.edge).toBeLessThanOrEqual(
        Math.min(image?.edge ?? 0, image?.many?.edge ?? Infinity),
      );
    }
    expect(VENDORS.map(([on]) => on.api)).toEqual(expect.arrayContaining(["anthropic", "bedrock", "gemini"]));
    expect(APIS.length).toBeGreaterThan(5);
  });

  it("is an address only where the API itself may fetch it", () => {
    const takes = (on: Model, url: string) => takesAddress(mediaLimitsOf(on), url);
    expect(takes(anthropic, "https://e.org/a.png")).toBe(true);
    expect(takes(anthropic, "http://e.org/a.png")).toBe(false);
    expect(takes(chat, "http://e.org/a.png")).toBe(true);
    // A server of one's own that speaks a vendor's API is not sent where a stranger says.
    const baseUrl = "http://models.internal:8080";
    const proxy = model({ api: "anthropic", id: "claude-opus-5", baseUrl });
    const google = model({ api: "gemini", id: "gemini-3-flash", baseUrl });
    expect(takes(model({ api: "gemini", id: "gemini-3-flash" }), "https://e.org/a.png")).toBe(true);
    for (const on of [local, bedrock, proxy, google]) {
      expect(takes(on, "https://e.org/a.png")).toBe(false);
      expect(lines(on, [said("m", "https://e.org/a.png")])).toEqual([
        "[An image was here: given as an address, which this model cannot take.]",
      ]);
    }
  });

  it("is told for what is too large, with the sizes", () => {
    expect(lines(anthropic, [said("m", png(8001, 5))])).toEqual([
      "[An image was here: 8001 × 5 pixels, of which this model takes at most 8000 each way.]",
    ]);
    expect(lines(anthropic, [said("m", png(5, 5, 4_000_000))])).toEqual([
      "[An image was here: 4000000 bytes, of which this model takes at most 3932160.]",
    ]);
    expect(pictures(anthropic, [said("m", png(8000), png(5, 5, 3_932_160))])).toBe(2);
    expect(pictures(chat, [said("m", png(8001, 5))])).toBe(1);
  });
});

describe("more pictures than an API takes", () => {
  const many = (count: number, from = 0): LLMMessage[] =>
    Array.from({ length: count }, (_, index) => said(`m${from + index}`, png(100)));

  it("lose their oldest, a quarter at a time, and the receipt says which", () => {
    expect(pictures(anthropic, many(100))).toBe(100);
    expect(pictures(anthropic, many(101))).toBe(76);
    expect(pictures(anthropic, many(125))).toBe(100);
    expect(pictures(anthropic, many(126))).toBe(76);
    const { leftOut } = encode(anthropic, { messages: many(101) });
    expect(leftOut.map(({ message_id }) => message_id)).toEqual(many(25).map(({ id }) => id));
    expect(leftOut[0]?.reason).toBe("a picture or sound of it: only the newest are sent");
    expect(lines(anthropic, many(101))).toHaveLength(25);
  });

  it("leave what stands before them unchanged until the next step", () => {
    const blocks = (count: number) =>
      encode(anthropic, { messages: many(count) })
        .blocks.filter(({ kind }) => kind === "message")
        .map(({ text }) => text);
    for (const count of [99, 101, 110, 124]) expect(blocks(count + 1).slice(0, count)).toEqual(blocks(count));
    expect(blocks(101).slice(0, 100)).not.toEqual(blocks(100));
  });

  it("are the same bytes whether or not the last request is remembered", () => {
    const memory = encodeMemory();
    const all = many(130);
    for (let count = 95; count <= 130; count++) {
      const messages = all.slice(0, count);
      expect(encode(anthropic, { messages }, memory).body).toBe(encode(anthropic, { messages }).body);
    }
  });

  it("count in tools' results as well, and each says in its words what was there", () => {
    const calls = Array.from({ length: 25 }, (_, index): LLMMessage[] => [
      {
        ...{ role: "assistant", id: `a${index}`, timestamp: 0, provider: "x", api: "x", model: "x" },
        stopReason: "tool_use",
        usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, cost: null },
        contents: [{ type: "tool_call", id: `c${index}`, name: "look", args: {} }],
      },
      ToolMessage.fromResults([ToolResultContent.of(`c${index}`, "seen", { images: [png(9)] })]),
    ]).flat();
    expect(pictures(bedrock, calls)).toBe(20);
    expect(lines(bedrock, calls)).toHaveLength(5);
    expect(encode(bedrock, { messages: calls }).body).toContain(
      "seen\\n[An image was here: only the newest are sent.]",
    );
  });

  it("have to be smaller where the API says so", () => {
    const wide = [...many(20), said("wide", png(2001, 9))];
    expect(pictures(anthropic, wide.slice(1))).toBe(20);
    expect(pictures(anthropic, wide)).toBe(20);
    expect(lines(anthropic, wide)).toEqual([expect.stringContaining("more than 2000 pixels")]);
  });

  it("weigh together no more than a request may", () => {
    const heavy = Array.from({ length: 10 }, (_, index) => said(`m${index}`, png(9, 9, 3_000_000)));
    expect(pictures(gemini, heavy)).toBe(3);
    expect(pictures(anthropic, heavy)).toBe(5);
    for (const [on, vendor] of VENDORS) {
      const { body } = encode(on, { messages: heavy });
      expect(mediaRules(vendor, JSON.parse(body), body), vendor).toEqual([]);
    }
  });
});

describe("whatever a history shows", () => {
  const picture = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(fc.integer({ min: 1, max: 9000 }), fc.nat(9000)).map(([w, h]) => png(w, h)),
    },
    fc.integer({ min: 40, max: 6_000_000 }).map((bytes) => png(100, 100, bytes)),
    fc.uint8Array({ maxLength: 30 }),
    fc.constantFrom("https://e.org/a.png", "http://e.org/a.png", "data:image/heic;base64,AAAA", "nothing"),
  );
  const content = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.array(picture, { maxLength: 12 }).map((all) => ({ type: "image" as const, images: all })),
    },
    fc
      .array(fc.integer({ min: 12, max: 3_000_000 }).map(wav), { maxLength: 2 })
      .map((all) => ({ type: "audio" as const, audio: all })),
  );
  const history = fc.array(fc.array(content, { maxLength: 3 }), { maxLength: 8 });

  it("no request is beyond its API's limits, and nothing is dropped without a word", () => {
    fc.assert(
      fc.property(history, fc.constantFrom(...VENDORS), (contents, [on, vendor]) => {
        const messages = contents.map((own, index) => UserMessage.of(own, { id: `m${index}`, timestamp: 0 }));
        const given = contents
          .flat()
          .flatMap((one) => (one.type === "image" ? one.images : one.audio)).length;
        const { body } = encode(on, { messages });
        const request: unknown = JSON.parse(body);
        expect(mediaRules(vendor, request, body)).toEqual([]);
        const told = body.match(/\[(An image|A sound clip) was here: /g) ?? [];
        expect(mediaIn(request).length + told.length).toBe(given);
      }),
      { numRuns: process.env.LONGHAND_LONG ? 1000 : 25 },
    );
  });
});

describe("the size of a picture", () => {
  it("is read from the first bytes of every kind, as a decoder finds it", async () => {
    const made = sharp({ create: { width: 321, height: 123, channels: 4, background: "#fa08" } });
    const kinds = [
      made.clone().png(),
      made.clone().jpeg(),
      made
        .clone()
        .jpeg({ progressive: true })
        .withExif({ IFD0: { Copyright: "x".repeat(40_000) } }),
      made.clone().gif(),
      made.clone().webp(),
      made.clone().webp({ lossless: true }),
      made.clone().flatten().webp(),
    ];
    for (const kind of kinds)
      expect(imageSize(new Uint8Array(await kind.toBuffer()))).toEqual({ width: 321, height: 123 });
  });

  it("is unknown, and no error, where the bytes do not say it", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.constantFrom("", "RIFF0000WEBPVP8X", "GIF89a", "\xff\xd8\xff"),
        (tail, head) => {
          const bytes = Buffer.concat([Buffer.from(head, "latin1"), tail]);
          const size = imageSize(new Uint8Array(bytes));
          if (size) expect(size.width * size.height).toBeGreaterThan(0);
        },
      ),
    );
  });
});
