import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AudioContent, firstBytes, ImageContent, readMediaString, sniffAudio, sniffImage } from "./index.js";
import { toBase64 } from "./media.js";

const bytes = (...parts: (string | number)[]): Uint8Array =>
  Uint8Array.from(
    parts.flatMap((part) => (typeof part === "number" ? [part] : [...Buffer.from(part, "latin1")])),
  );

const PNG = bytes(0x89, "PNG\r\n\x1a\n", 0, 0, 0, 13);
const JPEG = bytes(0xff, 0xd8, 0xff, 0xe0, 0, 16, "JFIF");
const WEBP = bytes("RIFF", 1, 2, 3, 4, "WEBPVP8 ");
const WAV = bytes("RIFF", 1, 2, 3, 4, "WAVEfmt ");
const MP3 = bytes("ID3", 4, 0, 0);
const base64 = (value: Uint8Array): string => Buffer.from(value).toString("base64");

describe("a file is what its bytes say", () => {
  test.each([
    ["image/png", PNG],
    ["image/jpeg", JPEG],
    ["image/gif", bytes("GIF87a", 1)],
    ["image/gif", bytes("GIF89a", 1)],
    ["image/webp", WEBP],
    [null, WAV],
    [null, bytes("GIF88a")],
    [null, bytes(0x89, "PNX\r\n\x1a\n")],
    [null, bytes("<html>")],
    [null, bytes()],
  ])("image %s", (mime, value) => expect(sniffImage(value)).toBe(mime));

  test.each([
    ["audio/mpeg", MP3],
    ["audio/mpeg", bytes(0xff, 0xfb, 0x90)],
    ["audio/mpeg", bytes(0xff, 0xf3, 0x90)],
    ["audio/mpeg", bytes(0xff, 0xf2, 0x90)],
    ["audio/ogg", bytes("OggS", 0)],
    ["audio/flac", bytes("fLaC", 0)],
    ["audio/wav", WAV],
    [null, WEBP],
    [null, bytes(0xff, 0xf1)],
    [null, bytes()],
  ])("audio %s", (mime, value) => expect(sniffAudio(value)).toBe(mime));
});

describe("an image becomes what a provider takes", () => {
  test("bytes, a Buffer and a view into a larger buffer are sniffed and encoded", () => {
    const inside = new Uint8Array(Buffer.concat([Buffer.from("xx"), JPEG, Buffer.from("yy")])).subarray(
      2,
      2 + JPEG.length,
    );
    expect(ImageContent.toBase64(ImageContent.of(PNG, Buffer.from(WEBP), inside))).toEqual([
      [base64(PNG), "image/png"],
      [base64(WEBP), "image/webp"],
      [base64(JPEG), "image/jpeg"],
    ]);
  });

  test("bare base64 is sniffed, line breaks in it taken out", () => {
    const broken = base64(JPEG).replace(/(.{5})/g, "$1\r\n");
    expect(ImageContent.toBase64(ImageContent.of(broken))).toEqual([[base64(JPEG), "image/jpeg"]]);
  });

  test("a data: URL gives its data, and its bytes outrank its claim", () => {
    expect(ImageContent.toBase64(ImageContent.of(`data:image/gif;base64,${base64(PNG)}`))).toEqual([
      [base64(PNG), "image/png"],
    ]);
    expect(
      ImageContent.toBase64(ImageContent.of(`DATA:image/avif;x=1;BASE64,${base64(bytes("avif"))}`)),
    ).toEqual([[base64(bytes("avif")), "image/avif"]]);
  });

  test("a URL passes through", () => {
    expect(ImageContent.toBase64(ImageContent.fromUrl("https://example.org/a.png?b"))).toEqual([
      ["https://example.org/a.png?b", ""],
    ]);
  });

  test("bytes of no known image are an error that names them, whatever the wrapping", () => {
    const html = bytes("<html>");
    const named = "it starts with 3c 68 74 6d 6c 3e";
    expect(() => ImageContent.toBase64(ImageContent.of(html))).toThrow(named);
    expect(() => ImageContent.toBase64(ImageContent.of(base64(html)))).toThrow(named);
    expect(() => ImageContent.toBase64(ImageContent.of(`data:text/html;base64,${base64(html)}`))).toThrow(
      named,
    );
    expect(() => ImageContent.toBase64(ImageContent.of(`data:;base64,${base64(html)}`))).toThrow(named);
    expect(() => ImageContent.toBase64(ImageContent.of(bytes()))).toThrow("nothing (0 bytes)");
    expect(firstBytes(bytes(0, 255, 1, 2, 3, 4, 5, 6, 7))).toBe("00 ff 01 02 03 04 05 06");
  });

  test("text that is no image is refused in words", () => {
    expect(() => ImageContent.toBase64(ImageContent.of("a cat, please"))).toThrow("nor base64");
    expect(() => ImageContent.toBase64(ImageContent.of("data:image/png,raw"))).toThrow("not base64-encoded");
    expect(() => ImageContent.toBase64(ImageContent.of("data:image/png;base64,%%%%"))).toThrow(
      "valid base64",
    );
  });

  test("a Blob is read first", async () => {
    const blob = new Blob([new Uint8Array(PNG)]);
    expect(ImageContent.toBase64(await ImageContent.fromBlob(blob))).toEqual([[base64(PNG), "image/png"]]);
    const careless = JSON.parse('{"type":"image","images":[{}]}');
    expect(() => ImageContent.toBase64(careless)).toThrow("fromBlob");
  });
});

describe("sound becomes what a provider takes", () => {
  test("bytes, base64 and data: URLs are sniffed", () => {
    const clips = [WAV, base64(MP3), `data:audio/ogg;base64,${base64(bytes("fLaC", 0, 0))}`];
    expect(AudioContent.toBase64(AudioContent.of(...clips))).toEqual([
      [base64(WAV), "audio/wav"],
      [base64(MP3), "audio/mpeg"],
      [base64(bytes("fLaC", 0, 0)), "audio/flac"],
    ]);
  });

  test("sound we do not recognise is audio/mpeg, or the audio type it was declared to be", () => {
    const unknown = base64(bytes("????"));
    expect(AudioContent.toBase64(AudioContent.fromBase64(unknown))).toEqual([[unknown, "audio/mpeg"]]);
    expect(AudioContent.toBase64(AudioContent.of(`data:audio/webm;codecs=opus;base64,${unknown}`))).toEqual([
      [unknown, "audio/webm"],
    ]);
    expect(AudioContent.toBase64(AudioContent.of(`data:text/plain;base64,${unknown}`))).toEqual([
      [unknown, "audio/mpeg"],
    ]);
  });

  test("a URL is not taken for sound", () => {
    expect(() => AudioContent.toBase64(AudioContent.of("https://example.org/a.mp3"))).toThrow("URL");
    expect(() => AudioContent.toBase64(AudioContent.of("la la la"))).toThrow("audio:");
  });

  test("a Blob is read first", async () => {
    const clip = await AudioContent.fromBlob(new Blob([new Uint8Array(WAV)]));
    expect(AudioContent.toBase64(clip)).toEqual([[base64(WAV), "audio/wav"]]);
  });
});

describe("files of this machine", () => {
  let folder = "";
  let clip = "";
  let picture = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "longhand media "));
    clip = join(folder, "clip.wav");
    picture = join(folder, "picture.png");
    writeFileSync(clip, WAV);
    writeFileSync(picture, PNG);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("fromFile reads at once", () => {
    const image = ImageContent.fromFile(picture);
    expect(image.images).toEqual([PNG]);
    expect(AudioContent.fromFile(clip).audio).toEqual([WAV]);
    expect(() => ImageContent.fromFile(join(folder, "none.png"))).toThrow("ENOENT");
  });

  test("a file: string is a path or a URL, in any case", () => {
    const expected = [[base64(WAV), "audio/wav"]];
    expect(AudioContent.toBase64(AudioContent.of(`file:${clip}`))).toEqual(expected);
    expect(AudioContent.toBase64(AudioContent.of(`FILE:${clip}`))).toEqual(expected);
    expect(AudioContent.toBase64(AudioContent.of(pathToFileURL(clip).href))).toEqual(expected);
    expect(ImageContent.toBase64(ImageContent.of(`file:${picture}`))).toEqual([[base64(PNG), "image/png"]]);
  });

  test("a file: URL of another machine is no file of ours", () => {
    expect(readMediaString("file://elsewhere/share/a.wav")).toEqual({
      form: "invalid",
      why: "a file: URL that is not of this machine",
    });
  });
});

test("ten million characters of media are read without running out of stack", () => {
  const long = "A".repeat(10_000_000);
  expect(readMediaString(long).form).toBe("base64");
  expect(readMediaString(`${long}!!!!`).form).toBe("invalid");
  expect(readMediaString(`data:${";".repeat(10_000_000)}`).form).toBe("invalid");
  expect(readMediaString(`${"  ".repeat(5_000_000)}file:/etc/passwd`).form).toBe("invalid");
});

test("bytes are encoded alike where there is no Buffer", () => {
  const value = Uint8Array.from({ length: 100_001 }, (_, index) => (index * 7) % 256);
  const kept = globalThis.Buffer;
  const expected = toBase64(value);
  try {
    Reflect.deleteProperty(globalThis, "Buffer");
    expect(toBase64(value) === expected).toBe(true);
  } finally {
    globalThis.Buffer = kept;
  }
});
