import { describe, expect, it } from "vitest";
import { type MediaLimits, mediaLimitsOf } from "../agent/index.js";
import { ToolResultContent } from "../message/index.js";
import { model } from "../provider/index.js";
import type { MediaWork } from "./mediaWork.js";
import { withSeenMedia } from "./toolMedia.js";

const SMALL = Uint8Array.of(1);
const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

/** Fetches nothing but `/there`, and makes every picture the same small one. */
function work(limits: MediaLimits | null): MediaWork & { fetched: string[] } {
  const fetched: string[] = [];
  return {
    fetched,
    fetch: async (url) => {
      fetched.push(url);
      return url.endsWith("/there") ? { ok: true, bytes: PNG } : { ok: false, why: "not there" };
    },
    picture: async () => ({ ok: true, bytes: SMALL }),
    transcriber: null,
    limitsIn: async () => limits,
  };
}

const shown = (media: MediaWork, ...images: (string | Uint8Array)[]) =>
  withSeenMedia(media, "home", ToolResultContent.of("c", "found", { images }));

describe("a picture that a tool gives by address", () => {
  it("goes on as one where the chat's model fetches it itself", async () => {
    const media = work(mediaLimitsOf(model({ api: "anthropic", id: "claude-opus-5" })));
    const result = await shown(media, "https://e.org/a.png", "http://e.org/there");
    expect(result.images).toEqual(["https://e.org/a.png", SMALL]);
    expect(media.fetched).toEqual(["http://e.org/there"]);
  });

  it("is fetched by us where it does not, and told of where it cannot be had", async () => {
    for (const limits of [
      null,
      mediaLimitsOf(model({ api: "bedrock", id: "amazon.nova-pro-v1:0", baseUrl: "https://b" })),
    ]) {
      const result = await shown(work(limits), "https://e.org/there", "https://e.org/gone", PNG);
      expect(result).toMatchObject({
        images: [SMALL, SMALL],
        content: "found\n[image 2 left out: not there]",
      });
    }
  });
});

it("a result without pictures stays as it is", async () => {
  const result = ToolResultContent.of("c", "words");
  expect(await withSeenMedia(work(null), "home", result)).toBe(result);
});
