import { expect, test } from "vitest";
import { defaultModelName, model, resolveModel } from "./model.js";

const KEYS = { AWS_ACCESS_KEY_ID: "AKID", AWS_SECRET_ACCESS_KEY: " secret " };
const ARN = "arn:aws:bedrock:ap-south-1:123456789012:application-inference-profile/abc";

test.each([
  [
    "bedrock/us.anthropic.claude-opus-5-v1:0",
    { AWS_BEARER_TOKEN_BEDROCK: " key ", AWS_REGION: "us-east-1", ...KEYS },
    {
      provider: "bedrock",
      api: "bedrock",
      apiKey: "key",
      baseUrl: "https://bedrock-runtime.us-east-1.amazonaws.com",
    },
  ],
  [
    "bedrock/amazon.nova-lite-v1:0",
    { ...KEYS, AWS_DEFAULT_REGION: "cn-north-1", AWS_SESSION_TOKEN: "session" },
    {
      id: "amazon.nova-lite-v1:0",
      apiKey: null,
      baseUrl: "https://bedrock-runtime.cn-north-1.amazonaws.com.cn",
      signing: {
        region: "cn-north-1",
        accessKeyId: "AKID",
        secretAccessKey: "secret",
        sessionToken: "session",
      },
    },
  ],
  [
    `bedrock/${ARN}`,
    KEYS,
    { id: ARN, signing: { region: "ap-south-1", sessionToken: null }, quirks: { images: true } },
  ],
  [
    "bedrock/x",
    {
      AWS_ENDPOINT_URL: "http://127.0.0.1:4566",
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: "http://127.0.0.1:9/proxy",
    },
    { apiKey: null, baseUrl: "http://127.0.0.1:9/proxy" },
  ],
  [
    "bedrock/mistral.mistral-large-2402-v1:0",
    { ...KEYS, AWS_REGION: "eu-west-3", AWS_ENDPOINT_URL: "http://127.0.0.1:4566" },
    {
      baseUrl: "http://127.0.0.1:4566",
      signing: { region: "eu-west-3" },
      quirks: { images: false, assistantAfterTools: true },
    },
  ],
])("%s is found with what AWS's variables say", (name, env, expected) => {
  expect(resolveModel(name, env)).toMatchObject({ ok: true, model: expected });
});

test("a key of Bedrock's own goes before keys that sign", () => {
  const found = resolveModel("bedrock/x", {
    AWS_BEARER_TOKEN_BEDROCK: "k",
    AWS_REGION: "us-east-1",
    ...KEYS,
  });
  expect(found.ok && found.model.signing).toBeUndefined();
});

test.each([
  [{}, "needs AWS_BEARER_TOKEN_BEDROCK=<your key>, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"],
  [{ AWS_ACCESS_KEY_ID: "AKID", AWS_REGION: "us-east-1" }, "needs AWS_BEARER_TOKEN_BEDROCK"],
  [
    { AWS_PROFILE: "work", AWS_REGION: "us-east-1" },
    'eval "$(aws configure export-credentials --format env)"',
  ],
  [KEYS, "needs AWS_REGION, such as us-east-1"],
  [{ AWS_BEARER_TOKEN_BEDROCK: "k" }, "needs AWS_REGION, such as us-east-1"],
  [{ ...KEYS, AWS_ENDPOINT_URL: "http://127.0.0.1:1" }, "needs AWS_REGION"],
  [{ ...KEYS, AWS_REGION: "us-east-1/../x" }, 'AWS_REGION is "us-east-1/../x"'],
  [
    { ...KEYS, AWS_REGION: "us-east-1", AWS_ENDPOINT_URL: "localhost" },
    "AWS_ENDPOINT_URL must be an http(s) address",
  ],
])("with %o, what is missing is told", (env, why) => {
  const found = resolveModel("bedrock/amazon.nova-lite-v1:0", env);
  expect(found).toMatchObject({ ok: false, why: expect.stringContaining(why) });
  expect(JSON.stringify(found)).not.toMatch(/secret /);
});

test("Bedrock answers when AWS is all that is set up, by the profile of its continent", () => {
  const name = (env: Record<string, string>): string => defaultModelName(env).name;
  expect(name({ ...KEYS, AWS_REGION: "us-west-2" })).toBe("bedrock/us.amazon.nova-lite-v1:0");
  expect(name({ AWS_BEARER_TOKEN_BEDROCK: "k", AWS_REGION: "eu-west-1" })).toBe(
    "bedrock/eu.amazon.nova-lite-v1:0",
  );
  expect(name({ ...KEYS, AWS_REGION: "ap-south-1" })).toBe("bedrock/apac.amazon.nova-lite-v1:0");
  expect(name({ ...KEYS, AWS_REGION: "us-gov-west-1" })).toBe("bedrock/amazon.nova-lite-v1:0");
  expect(defaultModelName({ ...KEYS, AWS_REGION: "us-west-2" }).why).toBe(
    "AWS_ACCESS_KEY_ID and a region of AWS are set",
  );
  // Keys without a region, or with another vendor's, say nothing.
  expect(name(KEYS)).toBe("demo/demo");
  expect(name({ ...KEYS, AWS_REGION: "us-west-2", OPENAI_API_KEY: "k" })).toBe("openai/gpt-4.1-mini");
  expect(name({ ...KEYS, AWS_REGION: "us-west-2", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" })).toBe(
    "demo/demo",
  );
});

test("a model made in code is asked in the region its keys are for", () => {
  const signing = { region: "eu-north-1", accessKeyId: "a", secretAccessKey: "b", sessionToken: null };
  expect(model({ api: "bedrock", id: "x", signing })).toMatchObject({
    provider: "bedrock",
    baseUrl: "https://bedrock-runtime.eu-north-1.amazonaws.com",
    signing,
  });
});
