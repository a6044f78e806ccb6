import type { Signing } from "./codec.js";
import { type Env, variable } from "./vendors.js";

/** How Bedrock is reached, as the variables of AWS say; or what is missing, in words. */
export type BedrockSettings =
  | { ok: true; baseUrl: string; addressFrom: string; access: { apiKey: string | null; signing?: Signing } }
  | { ok: false; why: string };

const PROFILE_HINT =
  'a profile is not read here: run eval "$(aws configure export-credentials --format env)" first';

/** What the environment says of Bedrock for a model of this id. */
export function bedrockSettings(name: string, id: string, env: Env): BedrockSettings {
  const apiKey = variable(env, "AWS_BEARER_TOKEN_BEDROCK");
  const keys = keysIn(env);
  const own = addressIn(env);
  const region = regionIn(env) ?? regionOfArn(id);
  if (apiKey === null && keys === null && own === null) {
    const hint = variable(env, "AWS_PROFILE") ? `; ${PROFILE_HINT}` : "";
    return no(
      `${name} needs AWS_BEARER_TOKEN_BEDROCK=<your key>, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY${hint}`,
    );
  }
  if (region === null && (own === null || (apiKey === null && keys !== null)))
    return no(`${name} needs AWS_REGION, such as us-east-1`);
  if (region !== null && !/^[a-z0-9-]+$/.test(region))
    return no(`AWS_REGION is "${region}": set it to a region such as us-east-1`);
  const signing = apiKey === null && keys && region ? { signing: { region, ...keys } } : {};
  const at = own ?? { value: addressOf(region ?? ""), name: "AWS_REGION" };
  return { ok: true, baseUrl: at.value, addressFrom: at.name, access: { apiKey, ...signing } };
}

const USUAL_REGION = "us-east-1";

/** Who offers the API, and where, when no address is given. */
export function bedrockPlace(signing: Signing | undefined): { provider: string; baseUrl: string } {
  return { provider: "bedrock", baseUrl: addressOf(signing?.region ?? USUAL_REGION) };
}

/** A model to start with when nothing but AWS is set up, and why; null when that is not enough either. */
export function bedrockDefault(env: Env): { name: string; why: string } | null {
  const region = regionIn(env);
  const apiKey = variable(env, "AWS_BEARER_TOKEN_BEDROCK");
  if (region === null || (apiKey === null && keysIn(env) === null)) return null;
  const found = apiKey === null ? "AWS_ACCESS_KEY_ID" : "AWS_BEARER_TOKEN_BEDROCK";
  return { name: `bedrock/${usualId(region)}`, why: `${found} and a region of AWS are set` };
}

/** Amazon's own model, cheap, and open to every account; by the profile that spreads it over a continent. */
function usualId(region: string): string {
  const continent = [
    [/^us-(?!gov)/, "us."],
    [/^eu-/, "eu."],
    [/^ap-/, "apac."],
  ] as const;
  return `${continent.find(([known]) => known.test(region))?.[1] ?? ""}amazon.nova-lite-v1:0`;
}

function keysIn(env: Env): Omit<Signing, "region"> | null {
  const accessKeyId = variable(env, "AWS_ACCESS_KEY_ID");
  const secretAccessKey = variable(env, "AWS_SECRET_ACCESS_KEY");
  if (accessKeyId === null || secretAccessKey === null) return null;
  return { accessKeyId, secretAccessKey, sessionToken: variable(env, "AWS_SESSION_TOKEN") };
}

function regionIn(env: Env): string | null {
  return variable(env, "AWS_REGION") ?? variable(env, "AWS_DEFAULT_REGION");
}

function addressIn(env: Env): { name: string; value: string } | null {
  const own = variable(env, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME");
  if (own !== null) return { name: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", value: own };
  const every = variable(env, "AWS_ENDPOINT_URL");
  return every === null ? null : { name: "AWS_ENDPOINT_URL", value: every };
}

/** `arn:aws:bedrock:us-east-1:123456789012:…` */
function regionOfArn(id: string): string | null {
  return /^arn:[^:]*:bedrock:([^:]+):/.exec(id)?.[1] ?? null;
}

function addressOf(region: string): string {
  return `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}

function no(why: string): BedrockSettings {
  return { ok: false, why };
}
