import type { Metadata } from "sharp";
import { COMMON_IMAGE } from "../agent/index.js";
import { sniffImage } from "../message/index.js";

/** A picture as models get it: as it came, or made anew; or why there is none. */
export type SeenPicture = { ok: true; bytes: Uint8Array } | { ok: false; why: string };

export type SharpModule = typeof import("sharp")["default"];
export type LoadSharp = () => Promise<SharpModule | null>;

/** A picture with more is one nobody took with a camera. */
const MOST_PIXELS = 100_000_000;
/** What all pictures that are decoded at one time may need, in bytes: a file of a few kilobytes can ask for gigabytes. */
const MOST_MEMORY = 640_000_000;
const SECONDS = 20;
/** At once, in the whole process. */
const AT_ONCE = 2;
const INSTALL = "npm install sharp";
/** Why nothing is made of a file that others were before. */
export const NO_TIME = "there was no time left for it";

/** From as good as models can use to what always fits. */
const TRIES = [
  { edge: COMMON_IMAGE.edge, quality: 85 },
  { edge: 1568, quality: 80 },
  { edge: 1024, quality: 70 },
  { edge: 512, quality: 60 },
] as const;

let loading: ReturnType<LoadSharp> | null = null;

/** sharp, where it is installed. It is large, and few need it: it is loaded when the first picture comes. */
export const loadSharp: LoadSharp = () => {
  loading ??= import("sharp").then(
    (module) => module.default,
    () => null,
  );
  return loading;
};

/**
 * The form of a picture that every model API takes: upright, still, JPEG or PNG, of limited size. One that is so already
 * stays as it is, to the byte. Whatever the bytes are, this does not throw.
 */
export async function seenPicture(
  bytes: Uint8Array,
  load: LoadSharp = loadSharp,
  signal: AbortSignal | null = null,
): Promise<SeenPicture> {
  const sharp = await load();
  if (sharp) return convert(sharp, bytes, signal);
  // Whether it is small enough, each API's own limits say when it is sent.
  if (sniffImage(bytes)) return { ok: true, bytes };
  return no(`this server cannot turn it into a picture that models take (${INSTALL})`);
}

async function convert(
  sharp: SharpModule,
  bytes: Uint8Array,
  signal: AbortSignal | null,
): Promise<SeenPicture> {
  if (isDrawing(bytes)) return no("drawings (SVG) are not drawn here; a PNG or JPEG of it can be seen");
  const about = holdsPixels(bytes) ? await metadataOf(sharp, bytes) : null;
  if (!about) return no("its bytes are no picture that can be read here");
  const { width, height } = about;
  const need = memoryFor(about);
  if (width * height > MOST_PIXELS || need > MOST_MEMORY)
    return no(`${width} × ${height} pixels are too many`);
  return (await inTurn(need, signal, () => made(sharp, bytes, about))) ?? no(NO_TIME);
}

async function made(sharp: SharpModule, bytes: Uint8Array, about: Metadata): Promise<SeenPicture> {
  const enough = AbortSignal.timeout(SECONDS * 1000);
  if (isCommon(about, bytes) && (await isWhole(sharp, bytes))) return { ok: true, bytes };
  for (const { edge, quality } of TRIES) {
    if (enough.aborted) return no(NO_TIME);
    const anew = await makeAnew(sharp, bytes, edge, quality, isDrawn(about));
    if (!anew) return no("its bytes are damaged");
    if (anew.length <= COMMON_IMAGE.bytes) return { ok: true, bytes: anew };
  }
  return no("it could not be made small enough");
}

/**
 * A drawing is a program: a few kilobytes of it run for hours, even to learn its size, and nothing stops them. Only files
 * that hold pixels are handed to a decoder.
 */
function holdsPixels(bytes: Uint8Array): boolean {
  if (sniffImage(bytes)) return true;
  const head = Buffer.from(bytes.subarray(0, 8)).toString("latin1");
  return head.startsWith("II*\0") || head.startsWith("MM\0*") || head.endsWith("ftyp");
}

function isDrawing(bytes: Uint8Array): boolean {
  return /^\s*<(?:\?xml|!doctype|!--|svg)/i.test(Buffer.from(bytes.subarray(0, 256)).toString("latin1"));
}

const BYTES_OF_SAMPLE: Readonly<Record<string, number>> = { uchar: 1, char: 1, ushort: 2, short: 2 };
/** Measured, in bytes: these decoders keep several copies of every pixel. */
const PIXEL: Readonly<Record<string, number>> = { heif: 20, webp: 11, gif: 11 };
/** What a decoder needs of its own for a pixel. */
const ASIDE = 2;

/** The memory that decoding takes if all of it is held at once, as some files make a decoder do. */
function memoryFor({ width, height, channels = 4, depth, format }: Metadata): number {
  const pixel = channels * (BYTES_OF_SAMPLE[depth ?? ""] ?? 8) + ASIDE;
  return width * height * (PIXEL[format ?? ""] ?? pixel);
}

async function metadataOf(sharp: SharpModule, bytes: Uint8Array): Promise<Metadata | null> {
  try {
    const about = await sharp(bytes, { failOn: "none", limitInputPixels: false }).metadata();
    return about.width > 0 && about.height > 0 ? about : null;
  } catch {
    return null;
  }
}

function isCommon(about: Metadata, bytes: Uint8Array): boolean {
  const { types, edge } = COMMON_IMAGE;
  const type = sniffImage(bytes);
  return (
    types.some((known) => known === type) &&
    bytes.length <= COMMON_IMAGE.bytes &&
    Math.max(about.width, about.height) <= edge &&
    (about.orientation ?? 1) === 1 &&
    (about.pages ?? 1) === 1 &&
    about.space !== "cmyk"
  );
}

/** Reads all of it: one that breaks off, or whose sums are wrong, would be refused by some, and with it every later request. */
async function isWhole(sharp: SharpModule, bytes: Uint8Array): Promise<boolean> {
  try {
    const picture = sharp(bytes, { failOn: "error", limitInputPixels: MOST_PIXELS });
    await picture.resize(8, 8, { fit: "fill" }).timeout({ seconds: SECONDS }).raw().toBuffer();
    return true;
  } catch {
    return false;
  }
}

/** Lines and letters stay sharp in a PNG; photographs are smaller as JPEG. */
function isDrawn({ format, hasAlpha }: Metadata): boolean {
  return format === "png" || format === "gif" || hasAlpha === true;
}

/** What can still be read of it, upright and no larger than this. Notes of the camera, such as where it was, stay behind. */
async function makeAnew(
  sharp: SharpModule,
  bytes: Uint8Array,
  edge: number,
  quality: number,
  drawn: boolean,
): Promise<Uint8Array | null> {
  const small = () =>
    sharp(bytes, { failOn: "none", limitInputPixels: MOST_PIXELS })
      .autoOrient()
      .resize(edge, edge, { fit: "inside", withoutEnlargement: true })
      .toColourspace("srgb")
      .timeout({ seconds: SECONDS });
  try {
    const png = drawn ? await small().png().toBuffer() : null;
    if (png && png.length <= COMMON_IMAGE.bytes) return new Uint8Array(png);
    return new Uint8Array(await small().flatten({ background: "#ffffff" }).jpeg({ quality }).toBuffer());
  } catch {
    return null;
  }
}

type Waiting = { need: number; start: () => void };
const waiting: Waiting[] = [];
let running = 0;
let held = 0;

/** First come, first served, as many as the memory allows. Null when the signal fires before its turn comes. */
async function inTurn<T>(
  need: number,
  signal: AbortSignal | null,
  work: () => Promise<T>,
): Promise<T | null> {
  if (!(await turnComes(need, signal))) return null;
  try {
    return await work();
  } finally {
    running--;
    held -= need;
    startNext();
  }
}

function turnComes(need: number, signal: AbortSignal | null): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const giveUp = () => {
      waiting.splice(waiting.indexOf(mine), 1);
      resolve(false);
      startNext();
    };
    const mine: Waiting = {
      need,
      start: () => {
        signal?.removeEventListener("abort", giveUp);
        resolve(true);
      },
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    waiting.push(mine);
    startNext();
  });
}

function startNext(): void {
  for (
    let next = waiting[0];
    next && running < AT_ONCE && held + next.need <= MOST_MEMORY;
    next = waiting[0]
  ) {
    waiting.shift();
    running++;
    held += next.need;
    next.start();
  }
}

function no(why: string): SeenPicture {
  return { ok: false, why };
}
