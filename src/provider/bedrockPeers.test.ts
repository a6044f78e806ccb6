import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROVIDER = join(import.meta.dirname, "../../dist/provider/index.js");
const MESSAGE = join(import.meta.dirname, "../../dist/message/index.js");

/** A program in which one package cannot be found, as on a machine where nobody installed it. */
function withoutPackage(name: string): string {
  const hooks = `export async function resolve(specifier, context, next) {
    if (specifier.startsWith(${JSON.stringify(name)}))
      throw Object.assign(new Error("Cannot find package " + specifier), { code: "ERR_MODULE_NOT_FOUND" });
    return next(specifier, context);
  }`;
  return `
    import { register } from "node:module";
    register("data:text/javascript," + encodeURIComponent(${JSON.stringify(hooks)}));
    const { call, model } = await import(${JSON.stringify(PROVIDER)});
    const { UserMessage } = await import(${JSON.stringify(MESSAGE)});
    let sent = 0;
    const fetch = async () => { sent++; return new Response("{}"); };
    const on = model({ api: "bedrock", id: "amazon.nova-lite-v1:0", apiKey: "k" });
    for await (const event of call(on, { messages: [UserMessage.text("hi")] }, { fetch }))
      if (event.type === "done") console.log(JSON.stringify({ sent, ...event.message }));`;
}

test.each(["@smithy/", "@aws-crypto/"])(
  "without %s packages, an answer says what to type, and nothing is sent",
  async (name) => {
    const run = promisify(execFile);
    const program = withoutPackage(name);
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program]);
    expect(JSON.parse(stdout)).toMatchObject({
      sent: 0,
      stopReason: "error",
      errorKind: "invalid_request",
      error:
        "Amazon Bedrock needs packages that are not installed: npm install @smithy/eventstream-codec @smithy/signature-v4 @aws-crypto/sha256-js",
    });
  },
);
