import type { Metadata } from "sharp";
import { COMMON_IMAGE } from "../agent/index.js";
import { sniffImage } from "../message/index.js";

/** A picture as models get it: as it came, or made anew; or why there is none. */
export type SeenPicture = { ok: true; bytes: Uint8Array } | { ok: false; why: string };

export type SharpModule = typeof import("sharp")["default"];
export type LoadSharp = () => Promise<SharpModule | null>;

/** A picture with more is one nobody took with a camera. */
const MOST_PIXELS = 100_000_000;
const SECONDS = 20;
/** At once, in the whole process: each may take as much memory as its pixels need. */
const AT_ONCE = 2;
const INSTALL = "npm install sharp";

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
export async function seenPicture(bytes: Uint8Array, load: LoadSharp = loadSharp): Promise<SeenPicture> {
  const sharp = await load();
  if (sharp) return inTurn(() => convert(sharp, bytes));
  // Whether it is small enough, each API's own limits say when it is sent.
  if (sniffImage(bytes)) return { ok: true, bytes };
  return no(`this server cannot turn it into a picture that models take (${INSTALL})`);
}

async function convert(sharp: SharpModule, bytes: Uint8Array): Promise<SeenPicture> {
  const about = await metadataOf(sharp, bytes);
  if (!about) return no("its bytes are no picture that can be read here");
  const { width, height } = about;
  if (width * height > MOST_PIXELS) return no(`${width} × ${height} pixels are too many`);
  if (isCommon(about, bytes) && (await isWhole(sharp, bytes))) return { ok: true, bytes };
  for (const { edge, quality } of TRIES) {
    const made = await makeAnew(sharp, bytes, edge, quality, isDrawn(about));
    if (!made) return no("its bytes are damaged");
    if (made.length <= COMMON_IMAGE.bytes) return { ok: true, bytes: made };
  }
  return no("it could not be made small enough");
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
  return format === "png" || format === "gif" || format === "svg" || hasAlpha === true;
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

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running < AT_ONCE) running++;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    // Whoever waits takes our place; only when nobody does is it given up.
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

function no(why: string): SeenPicture {
  return { ok: false, why };
}
