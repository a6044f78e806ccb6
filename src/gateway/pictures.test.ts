import fc from "fast-check";
import sharp, { type Metadata, type Sharp } from "sharp";
import { describe, expect, it } from "vitest";
import { COMMON_IMAGE } from "../agent/index.js";
import { sniffImage } from "../message/index.js";
import { loadSharp, type SeenPicture, seenPicture } from "./pictures.js";

/** A picture of noise, which nothing can press small; of one colour, which is small whatever its size. */
const noise = (width: number, height = width) =>
  sharp({
    create: {
      width,
      height,
      channels: 3,
      background: "#000",
      noise: { type: "gaussian", mean: 128, sigma: 60 },
    },
  });
const plain = (width: number, height = width) =>
  sharp({ create: { width, height, channels: 3, background: "#3a6" } });
const bytesOf = async (picture: Sharp) => new Uint8Array(await picture.toBuffer());

async function seen(bytes: Uint8Array): Promise<Uint8Array> {
  const picture = await seenPicture(bytes);
  if (!picture.ok) throw new Error(picture.why);
  return picture.bytes;
}

/** Does every API take it? */
async function expectCommon(bytes: Uint8Array): Promise<Metadata> {
  const about = await sharp(bytes, { failOn: "error" }).metadata();
  expect(["image/jpeg", "image/png"]).toContain(sniffImage(bytes));
  expect(bytes.length).toBeLessThanOrEqual(COMMON_IMAGE.bytes);
  expect(Math.max(about.width, about.height)).toBeLessThanOrEqual(COMMON_IMAGE.edge);
  await sharp(bytes, { failOn: "error" }).raw().toBuffer();
  return about;
}

describe("a picture that every API takes", () => {
  it("stays as it is, to the byte", async () => {
    for (const picture of [plain(300).png(), plain(2000, 100).jpeg(), plain(1).png()]) {
      const bytes = await bytesOf(picture);
      expect(await seen(bytes)).toBe(bytes);
    }
  });
});

describe("a picture that some API refuses is made anew", () => {
  it("smaller, when it has too many pixels", async () => {
    const about = await expectCommon(await seen(await bytesOf(plain(4000, 1000).jpeg())));
    expect([about.format, about.width, about.height]).toEqual(["jpeg", 2000, 500]);
    const drawn = await expectCommon(await seen(await bytesOf(plain(100, 2001).png())));
    expect([drawn.format, drawn.height]).toEqual(["png", 2000]);
  });

  it("smaller, when it has too many bytes", async () => {
    const large = await bytesOf(noise(1100).png({ compressionLevel: 0 }));
    expect(large.length).toBeGreaterThan(COMMON_IMAGE.bytes);
    await expectCommon(await seen(large));
  });

  it("upright, when the camera lay on its side, and without where it was", async () => {
    const bytes = await bytesOf(
      plain(40, 20)
        .jpeg()
        .withExif({ IFD0: { Orientation: "6", Copyright: "canary" } })
        .withMetadata({ orientation: 6 }),
    );
    const turned = await seen(bytes);
    const about = await expectCommon(turned);
    expect([about.width, about.height, about.orientation ?? 1]).toEqual([20, 40, 1]);
    expect(Buffer.from(turned).includes("canary")).toBe(false);
  });

  it("still, when it moves", async () => {
    const frames = await sharp([await bytesOf(plain(8).png()), await bytesOf(noise(8).png())], {
      join: { animated: true },
    })
      .gif({ delay: [100, 100], loop: 0 })
      .toBuffer();
    expect((await sharp(frames).metadata()).pages).toBe(2);
    const about = await expectCommon(await seen(new Uint8Array(frames)));
    expect([about.width, about.height, about.pages ?? 1]).toEqual([8, 8, 1]);
  });

  it("as JPEG or PNG, whatever it was", async () => {
    const others = [plain(30).tiff(), plain(30).webp(), plain(30).gif(), plain(30).avif()];
    for (const picture of others) await expectCommon(await seen(await bytesOf(picture)));
    await expectCommon(await seen(await bytesOf(plain(30).toColourspace("cmyk").jpeg())));
  });

  it("from what is left of it, when it breaks off", async () => {
    const whole = await bytesOf(noise(400).jpeg());
    const half = whole.slice(0, whole.length / 2);
    expect(await seen(half)).not.toBe(half);
    await expectCommon(await seen(half));
  });

  it("clean, when its sums are wrong, which some decoders mind", async () => {
    const bytes = await bytesOf(plain(20).png());
    // The sum behind the picture's own data, in front of the 12 bytes that end the file.
    bytes[bytes.length - 13] = (bytes.at(-13) ?? 0) ^ 1;
    expect(await seen(bytes)).not.toBe(bytes);
    await expectCommon(await seen(bytes));
  });
});

describe("a picture that cannot be had says why", () => {
  const why = async (picture: Promise<SeenPicture>) => {
    const { ok, ...rest } = await picture;
    return ok ? "none" : "why" in rest && rest.why;
  };

  it("when its bytes are none, or only say so", async () => {
    const head = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    for (const bytes of [new Uint8Array(), new TextEncoder().encode("BM…"), head])
      expect(await why(seenPicture(bytes))).toBe("its bytes are no picture that can be read here");
  });

  it("when it would fill the memory", async () => {
    const bomb = await bytesOf(plain(40, 40).png());
    new DataView(bomb.buffer).setUint32(16, 60_000);
    new DataView(bomb.buffer).setUint32(20, 60_000);
    expect(await why(seenPicture(bomb))).toMatch(/too many|no picture/);
    // Sixteen bits of four colours, of which a decoder must hold all at once.
    const deep = await bytesOf(plain(40, 40).ensureAlpha().toColourspace("rgb16").png());
    new DataView(deep.buffer).setUint32(16, 9000);
    new DataView(deep.buffer).setUint32(20, 9000);
    expect(await why(seenPicture(deep))).toBe("9000 × 9000 pixels are too many");
  });

  it("when it is a drawing: a small one can be drawn for hours, and nothing stops it", async () => {
    const layers = Array.from({ length: 20 }, (_, layer) => {
      const inner = layer === 0 ? "<rect/>" : `<use href="#l${layer - 1}"/>`.repeat(10);
      return `<g id="l${layer}">${inner}</g>`;
    });
    const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><defs>${layers.join("")}</defs><use href="#l19"/></svg>`;
    for (const words of [drawing, `<?xml version="1.0"?>\n${drawing}`])
      expect(await why(seenPicture(new TextEncoder().encode(words)))).toContain("SVG");
    // Whatever else stands before it, no decoder gets it.
    for (const before of ["\ufeff", " ".repeat(500), "\0"])
      expect(await why(seenPicture(new TextEncoder().encode(before + drawing)))).not.toBe("none");
  });

  it("when others keep us busy until nobody waits for it any more", async () => {
    const large = await bytesOf(noise(300).webp({ lossless: true }));
    const enough = new AbortController();
    const before = [large, large].map((bytes) => seenPicture(bytes));
    const late = seenPicture(await bytesOf(plain(8).gif()), loadSharp, enough.signal);
    enough.abort();
    expect(await why(late)).toBe("there was no time left for it");
    expect((await Promise.all(before)).map(({ ok }) => ok)).toEqual([true, true]);
    expect((await seenPicture(large)).ok).toBe(true);
  });

  it("when nothing here can convert it, with what to install", async () => {
    const none = async () => null;
    const tiff = await bytesOf(plain(30).tiff());
    expect(await why(seenPicture(tiff, none))).toContain("npm install sharp");
    const gif = await bytesOf(plain(30).gif());
    expect(await seenPicture(gif, none)).toEqual({ ok: true, bytes: gif });
  });

  it("whatever its bytes are, and what comes through is always taken", async () => {
    const seeds = await Promise.all(
      [plain(20).png(), noise(20).jpeg(), plain(20).gif(), plain(20).webp()].map(bytesOf),
    );
    const damaged = fc
      .tuple(fc.constantFrom(...seeds), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }), fc.nat())
      .map(([seed, hits, cut]) => {
        const bytes = seed.slice(0, seed.length - (cut % seed.length));
        for (const [at, value] of hits) if (bytes.length > 0) bytes[at % bytes.length] = value;
        return bytes;
      });
    await fc.assert(
      fc.asyncProperty(fc.oneof(damaged, fc.uint8Array({ maxLength: 40 })), async (bytes) => {
        const picture = await seenPicture(bytes);
        if (picture.ok) await expectCommon(picture.bytes);
        else expect(picture.why).not.toBe("");
      }),
      { numRuns: process.env.LONGHAND_LONG ? 5000 : 150 },
    );
  });
});
