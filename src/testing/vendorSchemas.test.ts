import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type SchemaApi, schemaFile, schemaReader } from "./vendorSchemas.js";

type Body = Record<string, unknown>;
const APIS: readonly [SchemaApi, string, Body][] = [
  ["anthropic", "@anthropic-ai/sdk", { model: "claude", max_tokens: 1, stream: true, messages: [] }],
  ["openai-chat", "openai", { model: "gpt", stream: true, messages: [{ role: "user", content: "Hi" }] }],
  ["openai-responses", "openai", { model: "gpt", input: [], stream: true }],
  ["gemini", "@google/genai", { contents: [{ role: "user", parts: [{ text: "Hi" }] }] }],
];

test.each(APIS)("the schema of %s is of the %s that is installed", (api, sdk) => {
  const { version } = JSON.parse(readFileSync(`node_modules/${sdk}/package.json`, "utf8"));
  const { $comment } = JSON.parse(readFileSync(schemaFile(api), "utf8"));
  expect($comment, "make the schemas anew: node src/testing/fixtures/makeSchemas.mjs").toBe(
    `${sdk} ${version}`,
  );
});

test.each(APIS)("a field that %s does not have, and one that is missing, are found", (api, _, body) => {
  const differences = schemaReader(api);
  expect(differences(JSON.stringify(body))).toEqual([]);
  expect(differences(JSON.stringify({ ...body, temprature: 1 }))).toEqual([
    expect.stringContaining('"additionalProperty":"temprature"'),
  ]);
  const [last = ""] = Object.keys(body).slice(-1);
  const { [last]: __, ...less } = body;
  expect(differences(JSON.stringify(less))).toEqual([expect.stringContaining(`'${last}'`)]);
});
