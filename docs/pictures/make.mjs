/**
 * Makes the pictures of docs/page.md: a real server, a story told by HTTP, a stand-in for a model, a real browser.
 *
 *     npm run build && node docs/pictures/make.mjs
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { startModel } from "./model.mjs";
import { tellStory } from "./story.mjs";
import { takePictures } from "./take.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const PORT = Number(process.env.LONGHAND_PORT ?? 17_484);
const TOKEN = "a-token-for-pictures-only";
const out = process.argv[2] ?? HERE;

const data = mkdtempSync(join(tmpdir(), "longhand-pictures-"));
const model = await startModel();
const server = await startServer();
const browser = await chromium.launch({
  executablePath: process.env.LONGHAND_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu"],
});
try {
  const story = await tellStory({ ask });
  await takePictures({ browser, story, out, baseUrl: `http://127.0.0.1:${PORT}`, token: TOKEN });
} finally {
  await browser.close();
  server.kill();
  model.close();
  rmSync(data, { recursive: true, force: true });
}

/** One request to the server, which must work. */
async function ask(method, path, body) {
  const response = await fetch(`http://127.0.0.1:${PORT}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

function startServer() {
  const child = spawn(process.execPath, [join(HERE, "../../dist/app/command/main.js"), "start"], {
    cwd: data,
    env: {
      PATH: process.env.PATH,
      LONGHAND_DATA: data,
      LONGHAND_PORT: String(PORT),
      LONGHAND_TOKEN: TOKEN,
      LONGHAND_MODEL: "anthropic/claude-sonnet-4-5",
      ANTHROPIC_API_KEY: "none",
      ANTHROPIC_BASE_URL: model.url,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk) => chunk.includes("is listening on") && resolve(child));
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
}
