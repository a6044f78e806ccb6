import { createHash } from "node:crypto";
import { PACKAGES_MISSING } from "./bedrockFailure.js";
import { bedrockPeers, MISSING_PEERS } from "./bedrockPeers.js";
import type { Fetch, Model, Network, Signing } from "./codec.js";

/**
 * Signs each request, with its exact bytes, as it leaves; one that has a key of its own is let through. Before the
 * first byte leaves it is sure that the answer can be read.
 */
export function bedrockTransport({ apiKey, signing }: Model, { fetch, now }: Network): Fetch {
  const send = fetch ?? globalThis.fetch;
  return async (url, init) => {
    const peers = await bedrockPeers();
    if (!peers) {
      const headers = { "x-amzn-errortype": PACKAGES_MISSING };
      return Response.json({ message: MISSING_PEERS }, { status: 501, headers });
    }
    if (apiKey !== null || !signing) return send(url, init);
    const body = String(init.body ?? "");
    const given = Object.fromEntries(new Headers(init.headers));
    const signer = new peers.SignatureV4({
      credentials: credentialsOf(signing),
      region: signing.region,
      service: "bedrock",
      sha256: peers.Sha256,
    });
    const signed = await signer.sign(
      { method: "POST", ...addressOf(new URL(url)), headers: { ...given, ...ownHeaders(url, body) }, body },
      { signingDate: new Date(now()) },
    );
    const { host: _, ...headers } = signed.headers;
    return send(url, { ...init, headers });
  };
}

function credentialsOf({ accessKeyId, secretAccessKey, sessionToken }: Signing) {
  return { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) };
}

function addressOf({ protocol, hostname, pathname, searchParams }: URL) {
  return { protocol, hostname, path: pathname, query: Object.fromEntries(searchParams) };
}

/** The digest of a long body is Node's to make: it is many times faster at it than the signing package. */
function ownHeaders(url: string, body: string): Record<string, string> {
  const digest = createHash("sha256").update(body).digest("hex");
  return { host: new URL(url).host, "x-amz-content-sha256": digest };
}
