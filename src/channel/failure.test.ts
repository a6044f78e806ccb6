import { describe, expect, test } from "vitest";
import { failureOfThrown, retryAfterMs } from "./failure.js";

const NOW = Date.parse("2026-03-04T05:06:07Z");

describe("how long a platform asks us to wait", () => {
  test.each([
    ["in seconds", "90", 90_000],
    ["as a date", "Wed, 04 Mar 2026 05:08:07 GMT", 120_000],
    ["not said", null, 1000],
    ["no time at all", "0", 1000],
    ["a date that has passed", "Wed, 04 Mar 2026 05:00:00 GMT", 1000],
    ["a week", "604800", 3_600_000],
    ["longer than numbers go", "9".repeat(400), 3_600_000],
    ["a date next year", "Thu, 04 Mar 2027 05:08:07 GMT", 3_600_000],
    ["nonsense", "soon", 1000],
    ["less than nothing", "-5", 1000],
    ["something that only looks like a date", "Foo, 99 Bar 2026", 1000],
  ])("%s", (_, header, wait) => {
    expect(retryAfterMs(header, NOW)).toBe(wait);
  });
});

describe("a request without an answer", () => {
  const failed = (code: string) =>
    new TypeError("fetch failed", {
      cause: Object.assign(new Error(`${code} https://host/secret`), { code }),
    });

  test.each(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "CERT_HAS_EXPIRED"])(
    "%s: nothing has left, so it is tried again",
    (code) => {
      expect(failureOfThrown(failed(code), "the platform").retryAfter).toBe(1000);
    },
  );

  test.each(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT", "SOMETHING_NEW"])(
    "%s: it may have arrived",
    (code) => {
      expect(failureOfThrown(failed(code), "the platform").retryAfter).toBe("unknown");
    },
  );

  test("whatever was thrown, its words are not repeated", () => {
    for (const thrown of [
      failed("ECONNRESET"),
      new Error("https://host/secret"),
      "https://host/secret",
      null,
    ]) {
      expect(failureOfThrown(thrown, "the platform")).toMatchObject({
        ok: false,
        why: expect.not.stringContaining("secret"),
      });
    }
  });
});
