import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { signatureOf, signingKeys, verifySignature } from "./signature.js";

const NOW = 1_614_265_330_000;
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const secret = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((key) => `whsec_${Buffer.from(key).toString("base64")}`);
const id = fc.stringMatching(/^[\x21-\x7e]{1,40}$/);
const seconds = fc.integer({ min: 0, max: 2 ** 40 });

function keysOf(text: string): Uint8Array[] {
  const read = signingKeys(text, "THE_SECRET");
  return read.ok ? read.keys : [];
}

function headersOf(given: { id: string; seconds: number; signature: string }) {
  return {
    "webhook-id": given.id,
    "webhook-timestamp": String(given.seconds),
    "webhook-signature": given.signature,
  };
}

describe("a webhook signature", () => {
  test("is the one published as the standard's example", () => {
    const body = Buffer.from('{"test": 2432232314}');
    expect(signatureOf(keysOf(SECRET), "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", body)).toBe(
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    );
  });

  test("is what the standard's own library makes of the same message", () => {
    fc.assert(
      fc.property(secret, id, seconds, fc.string({ unit: "binary" }), (secret, id, seconds, body) => {
        const theirs = new Webhook(secret).sign(id, new Date(seconds * 1000), body);
        expect(signatureOf(keysOf(secret), id, String(seconds), Buffer.from(body))).toBe(theirs);
        const headers = headersOf({ id, seconds, signature: theirs });
        expect(verifySignature(keysOf(secret), headers, Buffer.from(body), seconds * 1000)).toEqual({
          ok: true,
          id,
        });
      }),
    );
  });

  test("holds for no other bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (signed, given) => {
        fc.pre(Buffer.compare(signed, given) !== 0);
        const signature = signatureOf(keysOf(SECRET), "m", "1614265330", signed);
        const headers = headersOf({ id: "m", seconds: 1614265330, signature });
        expect(verifySignature(keysOf(SECRET), headers, given, NOW).ok).toBe(false);
      }),
    );
  });

  test.each([
    [-301, false],
    [-300, true],
    [0, true],
    [300, true],
    [301, false],
  ])("made %i seconds from now: %s", (offset, taken) => {
    const seconds = NOW / 1000 + offset;
    const signature = signatureOf(keysOf(SECRET), "m", String(seconds), Buffer.from("{}"));
    const headers = headersOf({ id: "m", seconds, signature });
    expect(verifySignature(keysOf(SECRET), headers, Buffer.from("{}"), NOW).ok).toBe(taken);
  });

  test.each(["", "soon", "1614265330.0", "1614265330 ", "01614265330", "-1", "1e9", "9".repeat(30)])(
    "is not taken at the time %j",
    (time) => {
      const signature = signatureOf(keysOf(SECRET), "m", time, Buffer.from("{}"));
      const headers = { ...headersOf({ id: "m", seconds: 0, signature }), "webhook-timestamp": time };
      expect(verifySignature(keysOf(SECRET), headers, Buffer.from("{}"), NOW).ok).toBe(false);
    },
  );

  test("of another version, or with nothing behind it, is no signature", () => {
    const right = signatureOf(keysOf(SECRET), "m", "1614265330", Buffer.from("{}"));
    for (const signature of [right.replace("v1", "v2"), right.slice(3), "v1,", "v1", `${right}x`, " "]) {
      const headers = headersOf({ id: "m", seconds: 1614265330, signature });
      expect(verifySignature(keysOf(SECRET), headers, Buffer.from("{}"), NOW).ok).toBe(false);
    }
  });

  test("a secret is told to be wrong without being told", () => {
    for (const wrong of [
      "whsec_",
      "hunter2",
      "hunter2-is-a-passphrase-and-no-base64-at-all!!",
      "whsec_not base64!",
      "whsec_c2hvcnQ=",
      `${SECRET} hunter2`,
    ]) {
      const read = signingKeys(wrong, "THE_SECRET");
      expect(read).toMatchObject({ ok: false, why: expect.stringContaining("THE_SECRET") });
      expect(JSON.stringify(read)).not.toMatch(/hunter2|c2hvcnQ|MfKQ9r8G/);
    }
  });
});
