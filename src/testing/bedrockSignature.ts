import { createHash, createHmac } from "node:crypto";
import type { ReceivedRequest } from "./scriptedServer.js";

/** The keys a server knows. */
export type KnownKeys = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  region: string;
};

const PARTS =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
/** What AWS insists on. */
const MUST_BE_SIGNED = ["host", "x-amz-date"];

/**
 * What is wrong with a request's signature; null when it is right. Computed from AWS's description of version 4, without
 * its libraries, so that each can catch the other's mistakes.
 */
export function signatureProblem({ url, headers, body }: ReceivedRequest, known: KnownKeys): string | null {
  const found = PARTS.exec(String(headers.authorization ?? ""));
  if (!found) return "MissingAuthenticationTokenException";
  const [, keyId, day = "", region = "", service = "", names = "", signature] = found;
  if (keyId !== known.accessKeyId || headers["x-amz-security-token"] !== known.sessionToken)
    return "UnrecognizedClientException";
  const time = String(headers["x-amz-date"]);
  const signed = names.split(";");
  const all = [...MUST_BE_SIGNED, ...Object.keys(headers).filter((name) => name.startsWith("x-amz-"))];
  const complete = all.every((name) => signed.includes(name)) && names === [...signed].sort().join(";");
  if (!complete || !time.startsWith(day) || region !== known.region || service !== "bedrock")
    return "IncompleteSignatureException";
  const digest = sha256(body);
  if (headers["x-amz-content-sha256"] !== digest) return "InvalidSignatureException";
  const canonical = [
    "POST",
    // Every step of the path is encoded once more than it is on the wire.
    url.split("/").map(encodeURIComponent).join("/"),
    "",
    ...signed.map((name) => `${name}:${String(headers[name]).trim().replace(/\s+/g, " ")}`),
    "",
    names,
    digest,
  ].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const key = [day, region, service, "aws4_request"].reduce<Buffer>(
    (made, word) => hmac(made, word),
    Buffer.from(`AWS4${known.secretAccessKey}`),
  );
  const expected = hmac(key, ["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n"));
  return expected.toString("hex") === signature ? null : "InvalidSignatureException";
}

function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

function hmac(key: Buffer, data: string): Buffer {
  return createHmac("sha256", key).update(data).digest();
}
