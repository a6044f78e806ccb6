/** The packages of AWS that frame and sign. They are optional: whoever calls no model on Bedrock needs none of them. */
export const MISSING_PEERS =
  "Amazon Bedrock needs packages that are not installed: npm install @smithy/eventstream-codec @smithy/signature-v4 @aws-crypto/sha256-js";

/** The packages, loaded when first needed; null when they are not installed. */
export async function bedrockPeers() {
  try {
    const [{ EventStreamCodec }, { SignatureV4 }, { Sha256 }] = await Promise.all([
      import("@smithy/eventstream-codec"),
      import("@smithy/signature-v4"),
      import("@aws-crypto/sha256-js"),
    ]);
    return { EventStreamCodec, SignatureV4, Sha256 };
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
}
