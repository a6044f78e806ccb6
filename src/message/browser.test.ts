import { readdirSync, readFileSync } from "node:fs";
import { createContext, Script } from "node:vm";
import { build } from "vite";
import { expect, test } from "vitest";

const folder = new URL(".", import.meta.url).pathname;

test("the room imports nothing of ours and nothing of Node's", () => {
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  const imported = files.flatMap((file) =>
    [...readFileSync(`${folder}${file}`, "utf8").matchAll(/^(?:import|export)[^;]*?from "([^"]+)"/gms)].map(
      ([, from]) => from,
    ),
  );
  expect(files.length).toBeGreaterThan(20);
  expect(imported.length).toBeGreaterThan(50);
  expect(
    imported.filter((from) => !/^\.\/[\w-]+\.js$/.test(from ?? "") && from !== "zod" && from !== "uuid"),
  ).toEqual([]);
});

test("a page without Node can bundle it and use it", async () => {
  const bundled = await build({
    configFile: false,
    logLevel: "error",
    root: folder,
    build: {
      write: false,
      minify: false,
      lib: { entry: `${folder}index.ts`, formats: ["iife"], name: "longhand" },
    },
  });
  const [output] = Array.isArray(bundled) ? bundled : [];
  const [chunk] = output?.output ?? [];
  if (chunk?.type !== "chunk") return expect.fail("nothing was bundled");
  expect(chunk.imports).toEqual([]);

  const page = createContext({ crypto, TextEncoder, atob, btoa, URL, Blob });
  new Script(chunk.code).runInContext(page);
  const run = (code: string): unknown => JSON.parse(new Script(`JSON.stringify(${code})`).runInContext(page));

  expect(run("typeof process + typeof Buffer")).toBe("undefinedundefined");
  expect(run('longhand.UserMessage.text("hi", { id: "i", timestamp: 1 })')).toEqual({
    role: "user",
    contents: [{ type: "text", content: "hi" }],
    id: "i",
    timestamp: 1,
  });
  expect(
    run("longhand.ImageContent.toBase64(longhand.ImageContent.of(new Uint8Array([255, 216, 255])))"),
  ).toEqual([["/9j/", "image/jpeg"]]);
  expect(run('longhand.byteLength("ø🚤")')).toBe(6);
  expect(run("longhand.newId(5).length")).toBe(36);
  expect(run('longhand.parseMessage({ role: "user" }, { from: "outside" }).errors.length')).toBe(3);
  expect(run('longhand.readMediaString("file:///a.png").form')).toBe("invalid");
});
