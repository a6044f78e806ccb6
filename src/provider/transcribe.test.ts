import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { transcriber } from "./transcribe.js";

let server: Server | null = null;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
});

type Asked = { url: string; authorization: string | undefined; form: FormData };

/** A server that keeps what it is asked and answers so. */
async function serve(
  answer: (response: ServerResponse) => void,
): Promise<{ baseUrl: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  server = createServer(async (request, response) => {
    asked.push(await read(request));
    answer(response);
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`, asked };
}

async function read(request: IncomingMessage): Promise<Asked> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const type = { "content-type": request.headers["content-type"] ?? "" };
  const form = await new Response(Buffer.concat(chunks), { headers: type }).formData();
  return { url: request.url ?? "", authorization: request.headers.authorization, form };
}

const CLIP = { mime: "audio/ogg; codecs=opus", bytes: new TextEncoder().encode("OggS…") };
const soon = () => AbortSignal.timeout(5000);
const json = (value: unknown) => (response: ServerResponse) =>
  response.setHeader("content-type", "application/json").end(JSON.stringify(value));

describe("a sound is written down", () => {
  it("by any server that has OpenAI's call for it", async () => {
    const usage = { type: "tokens", input_tokens: 14, output_tokens: 4, total_tokens: 18 };
    const { baseUrl, asked } = await serve(json({ text: " Buy milk. ", usage }));
    const writer = transcriber({ baseUrl, id: "whisper-1", apiKey: "sk-secret" });
    expect(await writer.transcribe(CLIP, soon())).toEqual({
      ok: true,
      text: "Buy milk.",
      usage: { inputTokens: 14, outputTokens: 4, seconds: null },
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ url: "/v1/audio/transcriptions", authorization: "Bearer sk-secret" });
    const file = asked[0]?.form.get("file");
    if (!(file instanceof File)) throw new Error("no file");
    expect([file.name, file.type]).toEqual(["clip.ogg", "audio/ogg"]);
    expect(new Uint8Array(await file.arrayBuffer())).toEqual(CLIP.bytes);
    expect(asked[0]?.form.get("model")).toBe("whisper-1");
  });

  it("also where the server tells seconds, or answers with the bare text", async () => {
    const told = await serve(json({ text: "Hi", usage: { type: "duration", seconds: 3 } }));
    const heard = await transcriber({ ...told, id: "w" }).transcribe(CLIP, soon());
    expect(heard).toMatchObject({ usage: { inputTokens: 0, outputTokens: 0, seconds: 3 } });
    server?.close();
    const bare = await serve((response) => response.end("Hi there\n"));
    expect(await transcriber({ ...bare, id: "w" }).transcribe(CLIP, soon())).toMatchObject({
      text: "Hi there",
    });
  });
});

describe("a sound that cannot be written down says why", () => {
  const refused = async (answer: (response: ServerResponse) => void) => {
    const { baseUrl } = await serve(answer);
    return transcriber({ baseUrl, id: "w", apiKey: "sk-secret" }).transcribe(CLIP, soon());
  };

  it("in the server's words, without the key", async () => {
    const error = { message: "Incorrect API key provided: sk-secret" };
    expect(await refused((response) => response.writeHead(401).end(JSON.stringify({ error })))).toEqual({
      ok: false,
      why: "the transcription server answered 401: Incorrect API key provided: [key]",
    });
    const teapot = { ok: false, why: "the transcription server answered 418" };
    expect(await refused((response) => response.writeHead(418).end("<h1>no</h1>"))).toEqual(teapot);
  });

  it("when the answer holds no text, or does not come", async () => {
    const empty = { ok: false, why: "the transcription server's answer holds no text" };
    expect(await refused(json({ words: [] }))).toEqual(empty);
    expect(await refused((response) => response.end("<html>"))).toEqual(empty);
    expect(await refused((response) => response.destroy())).toMatchObject({ ok: false });
    const elsewhere = await refused((response) => response.writeHead(302, { location: "/elsewhere" }).end());
    expect(elsewhere).toMatchObject({ ok: false, why: expect.stringContaining("did not answer") });
  });

  it("when it takes too long, or is too long itself", async () => {
    const { baseUrl, asked } = await serve(() => {});
    const writer = transcriber({ baseUrl, id: "w" });
    const waiting = new AbortController();
    const answer = writer.transcribe(CLIP, waiting.signal);
    setTimeout(() => waiting.abort(), 50);
    expect(await answer).toEqual({ ok: false, why: "transcribing it took too long" });
    const before = asked.length;
    const long = await writer.transcribe({ ...CLIP, bytes: new Uint8Array(26 * 1024 * 1024) }, soon());
    expect(long).toMatchObject({ ok: false, why: expect.stringContaining("26214400") });
    expect(asked).toHaveLength(before);
  });
});
