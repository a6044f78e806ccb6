import { readFile } from "node:fs/promises";
import { extname, join, normalize, sep } from "node:path";

/** Nothing but our own files runs or loads in the page; message text can never become script. */
const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
} as const;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".png": "image/png",
};

export type PageFile = { bytes: Uint8Array; headers: Record<string, string> };

/** A file of the built page; null when there is none of that name. */
export async function pageFile(folder: string, path: string): Promise<PageFile | null> {
  const name = normalize(join(folder, path));
  const type = TYPES[extname(name)];
  if (!name.startsWith(normalize(folder) + sep) || !type) return null;
  try {
    const caching = path.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache";
    return {
      bytes: await readFile(name),
      headers: { ...PAGE_HEADERS, "content-type": type, "cache-control": caching },
    };
  } catch {
    return null;
  }
}
