import type { ErrorKind } from "../message/index.js";
import { type Failure, failureFrom, readFailure } from "./failure.js";
import { isRecord, parseJson } from "./json.js";

/** What our own transport answers when it cannot sign or read. */
export const PACKAGES_MISSING = "PackagesMissing";

/** What AWS's names for errors mean, without the ending they share. The others are told by their status and words. */
const KINDS: ReadonlyMap<string, ErrorKind> = new Map([
  ["throttling", "rate_limit"],
  ["toomanyrequests", "rate_limit"],
  ["servicequotaexceeded", "quota"],
  ["internalserver", "overloaded"],
  ["internalfailure", "overloaded"],
  ["serviceunavailable", "overloaded"],
  ["modelnotready", "overloaded"],
  ["modelerror", "overloaded"],
  ["modelstreamerror", "overloaded"],
  ["modeltimeout", "timeout"],
  ["resourcenotfound", "invalid_request"],
  ["accessdenied", "auth"],
  ["unrecognizedclient", "auth"],
  ["expiredtoken", "auth"],
  ["invalidsignature", "auth"],
  ["incompletesignature", "auth"],
  ["missingauthenticationtoken", "auth"],
]);

/** A limit of a day does not pass while one waits. */
const OF_A_DAY = /per day|daily/i;

/** What AWS said went wrong. `status` is null for an error inside a stream that began well. */
export function bedrockFailure(status: number | null, type: string, body: string): Failure {
  const parsed = parseJson(body);
  const said = isRecord(parsed) && typeof parsed.Message === "string" ? { message: parsed.Message } : parsed;
  const name = nameOf(type || (isRecord(parsed) ? String(parsed.__type ?? "") : ""));
  if (name === PACKAGES_MISSING) return { kind: "invalid_request", text: readFailure(null, body).text };
  const failure = said === undefined ? readFailure(status, body) : failureFrom(status, said);
  return { kind: kindOf(name, failure, said), text: withName(failure.text, name) };
}

/** `com.amazon.coral.service#ThrottlingException:http://…` */
function nameOf(type: string): string {
  return type.replace(/^.*#/, "").replace(/:.*$/, "").trim();
}

function kindOf(name: string, failure: Failure, said: unknown): ErrorKind {
  const word = name.toLowerCase().replace(/(exception|error)$/, "");
  if (word === "validation") return failureFrom(400, said).kind;
  const known = KINDS.get(word) ?? KINDS.get(name.toLowerCase().replace(/exception$/, "")) ?? failure.kind;
  return known === "rate_limit" && OF_A_DAY.test(failure.text) ? "quota" : known;
}

/** The name says what the words leave out, such as that a key ran out. */
function withName(text: string, name: string): string {
  if (name === "" || text.includes(name)) return text;
  const [place = ""] = /^HTTP \d+: /.exec(text) ?? [];
  return `${place}${name}: ${text.slice(place.length)}`;
}
