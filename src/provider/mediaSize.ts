/** Width and height in pixels, as a picture's first bytes say. */
export type ImageSize = { width: number; height: number };

/** The size of a JPEG, PNG, GIF or WEBP, without decoding it; null where its bytes do not say. Never throws. */
export function imageSize(bytes: Uint8Array): ImageSize | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return positive(sizeIn(view));
  } catch (error) {
    // Bytes that end before they say it.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function positive(size: ImageSize | null): ImageSize | null {
  return size && size.width > 0 && size.height > 0 ? size : null;
}

function sizeIn(view: DataView): ImageSize | null {
  switch (view.getUint32(0)) {
    case 0x89504e47:
      return { width: view.getUint32(16), height: view.getUint32(20) };
    case 0x47494638:
      return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
    case 0x52494646:
      return view.getUint32(8) === 0x57454250 ? webpSize(view) : null;
    default:
      return view.getUint16(0) === 0xffd8 ? jpegSize(view) : null;
  }
}

/** Past tables and notes to the frame's own header. */
function jpegSize(view: DataView): ImageSize | null {
  let at = 2;
  for (;;) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    // Image data, or the end, before any frame.
    if (marker === 0xda || marker === 0xd9) return null;
    const hasNoLength = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
    at += hasNoLength ? 2 : 2 + view.getUint16(at + 2);
  }
}

function webpSize(view: DataView): ImageSize | null {
  switch (view.getUint32(12)) {
    case 0x56503858: // VP8X
      return { width: 1 + uint24(view, 24), height: 1 + uint24(view, 27) };
    case 0x56503820: // VP8 with a space
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    case 0x5650384c: {
      // VP8L
      const bits = view.getUint32(21, true);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    }
    default:
      return null;
  }
}

function uint24(view: DataView, at: number): number {
  return view.getUint8(at) | (view.getUint8(at + 1) << 8) | (view.getUint8(at + 2) << 16);
}
