import { lookup as dnsLookup } from "node:dns";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** Bytes from a stranger's URL, or why there are none. */
export type Fetched = { ok: true; bytes: Uint8Array } | { ok: false; why: string };

export type FetchLimits = { bytes: number; ms: number; redirects: number };
export const FETCH_LIMITS: FetchLimits = { bytes: 20 * 1024 * 1024, ms: 15_000, redirects: 3 };

/** Addresses that lead back into our own network, or nowhere a stranger should send us. */
const INSIDE = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  INSIDE.addSubnet(network, prefix, "ipv4");
}
/** Of IPv6 only the public range is let through; what maps or tunnels IPv4 is not in it or is refused here. */
const PUBLIC_6 = new BlockList();
PUBLIC_6.addSubnet("2000::", 3, "ipv6");
for (const [network, prefix] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const) {
  INSIDE.addSubnet(network, prefix, "ipv6");
}

/** May we connect to this IP address on a stranger's word? */
export type AddressCheck = (address: string) => boolean;

/** Only what lies outside: no private, loopback, link-local or reserved network. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !INSIDE.check(address, "ipv4");
  if (family === 6) return PUBLIC_6.check(address, "ipv6") && !INSIDE.check(address, "ipv6");
  return false;
}

/**
 * Fetch what a URL in a message points to. Private, loopback and link-local targets are refused by the address
 * actually connected to, after every redirect, so neither DNS nor a redirect can lead us inside.
 */
export async function fetchOutside(
  url: string,
  limits: FetchLimits = FETCH_LIMITS,
  allowed: AddressCheck = isPublicAddress,
): Promise<Fetched> {
  const signal = AbortSignal.timeout(limits.ms);
  let target = url;
  for (let hop = 0; hop <= limits.redirects; hop++) {
    const checked = checkUrl(target, allowed);
    if (typeof checked === "string") return { ok: false, why: checked };
    const answer = await get(checked, limits, allowed, signal);
    if (!("redirect" in answer)) return answer;
    if (!URL.canParse(answer.redirect, checked.href)) return { ok: false, why: "redirected to no URL" };
    target = new URL(answer.redirect, checked).href;
  }
  return { ok: false, why: `more than ${limits.redirects} redirects` };
}

const INSIDE_WHY = "the address is inside a private network";

function checkUrl(text: string, allowed: AddressCheck): URL | string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) return "not an http(s) URL";
  if (url.username || url.password) return "a URL with a password in it is not fetched";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !allowed(host)) return INSIDE_WHY;
  return url;
}

/** Resolves names itself, so that the address we checked is the address we connect to. */
function checkedLookup(allowed: AddressCheck): LookupFunction {
  return (hostname, options, done) => {
    dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, "");
      const first = addresses[0];
      if (!first || addresses.some(({ address }) => !allowed(address))) {
        return done(new Error(INSIDE_WHY), "");
      }
      if (options.all) return done(null, addresses);
      done(null, first.address, first.family);
    });
  };
}

function get(
  url: URL,
  limits: FetchLimits,
  allowed: AddressCheck,
  signal: AbortSignal,
): Promise<Fetched | { redirect: string }> {
  return new Promise((resolve) => {
    const fail = (error: Error) =>
      resolve({ ok: false, why: signal.aborted ? "it took too long" : error.message });
    const begin = url.protocol === "https:" ? httpsRequest : httpRequest;
    const outgoing: ClientRequest = begin(
      url,
      // A connection of its own: one that somebody else opened and left in a pool was never checked.
      { lookup: checkedLookup(allowed), agent: false, signal, headers: { accept: "*/*" } },
      (incoming) => {
        const status = incoming.statusCode ?? 0;
        const location = incoming.headers.location;
        if (status >= 300 && status < 400 && location) {
          incoming.destroy();
          return resolve({ redirect: location });
        }
        if (status !== 200) {
          incoming.destroy();
          return resolve({ ok: false, why: `the server answered ${status}` });
        }
        collect(incoming, limits).then(resolve, fail);
      },
    );
    outgoing.on("error", fail).end();
  });
}

async function collect(incoming: IncomingMessage, limits: FetchLimits): Promise<Fetched> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > limits.bytes) {
      incoming.destroy();
      return { ok: false, why: `larger than ${limits.bytes} bytes` };
    }
    chunks.push(chunk);
  }
  return { ok: true, bytes: new Uint8Array(Buffer.concat(chunks)) };
}
