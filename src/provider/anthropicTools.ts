import { isRecord } from "./json.js";

const CHOICES = ["anyOf", "oneOf", "allOf"] as const;

/**
 * A tool's parameters as the API takes them: an object, without a choice at the very top. A choice becomes the union
 * of what it offers; what is required in every case stays so. The tool itself checks the rest.
 */
export function inputSchema(parameters: Record<string, unknown>): Record<string, unknown> {
  const choices = CHOICES.filter((word) => Array.isArray(parameters[word]));
  if (choices.length === 0) return { ...parameters, type: "object" };
  const { anyOf: _, oneOf: __, allOf: ___, ...rest } = parameters;
  let properties = isRecord(rest.properties) ? rest.properties : {};
  const required = new Set(namesIn(rest.required));
  for (const word of choices) {
    const branches = listOf(parameters[word]).map((branch) => inputSchema(branch));
    for (const branch of branches) {
      if (isRecord(branch.properties)) properties = { ...branch.properties, ...properties };
    }
    const wanted = branches.map((branch) => namesIn(branch.required));
    for (const name of wanted.flat()) {
      if (word === "allOf" || wanted.every((names) => names.includes(name))) required.add(name);
    }
  }
  const needed = required.size > 0 ? { required: [...required] } : {};
  return { ...rest, type: "object", properties, ...needed };
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}
