import { readFileSync } from "node:fs";
import { Ajv, type ErrorObject } from "ajv";

/** The APIs whose vendors publish the shape of a request as types. */
export type SchemaApi = "anthropic" | "openai-chat" | "openai-responses" | "gemini";

/** Where the schema of an API's request stands. It is made from the types of the vendor's own SDK. */
export function schemaFile(api: SchemaApi): URL {
  return new URL(`./fixtures/${api}.schema.json`, import.meta.url);
}

/**
 * A reader of request bodies that tells where one differs from the vendor's own types: a wrong or missing field, and
 * also one that the types do not have. `besides` tells which such fields are taken all the same.
 */
export function schemaReader(
  api: SchemaApi,
  besides: (key: string, holder: object) => boolean = () => false,
): (body: string) => string[] {
  const validate = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(schemaFile(api), "utf8")));
  function known(this: object, key: string, value: unknown): unknown {
    return besides(key, this) ? undefined : value;
  }
  return (body) => (validate(JSON.parse(body, known)) ? [] : [deepest(validate.errors ?? [])]);
}

/** Of a value that fits none of many shapes, what is wrong with the one it came nearest to. */
function deepest(errors: readonly ErrorObject[]): string {
  const depth = ({ instancePath }: ErrorObject): number => instancePath.split("/").length;
  const most = Math.max(...errors.map(depth));
  const found = errors.filter((error) => depth(error) === most);
  return found
    .map(({ instancePath, message, params }) => `${instancePath}: ${message} ${JSON.stringify(params)}`)
    .join("; ");
}
