import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { SettingError } from "./settings.js";
import { transcriberFrom } from "./transcriber.js";

describe("who writes down what is said in sounds", () => {
  it("is nobody until somebody is named: a key for chatting is no leave to send voices away", () => {
    expect(
      transcriberFrom({ OPENAI_API_KEY: "sk-secret", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" }),
    ).toBeUndefined();
  });

  it("is a model by name, with or without its provider, or a server that has one", () => {
    const named = (env: Record<string, string>) => transcriberFrom(env)?.name;
    expect(named({ LONGHAND_TRANSCRIBE_MODEL: "openai/gpt-4o-mini-transcribe", OPENAI_API_KEY: "k" })).toBe(
      "openai/gpt-4o-mini-transcribe",
    );
    expect(named({ LONGHAND_TRANSCRIBE_MODEL: "whisper-1", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" })).toBe(
      "openai/whisper-1",
    );
    expect(named({ LONGHAND_TRANSCRIBE_BASE_URL: "http://127.0.0.1:1/v1" })).toBe("openai/whisper-1");
  });

  it("gives a server of one's own the key that is meant for it, and never OpenAI's", async () => {
    const keys: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      keys.push(request.headers.authorization);
      request.resume().on("end", () => response.end('{"text":"hello"}'));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const env = { LONGHAND_TRANSCRIBE_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: "sk-secret" };
    const clip = { mime: "audio/wav", bytes: Uint8Array.of(1) };
    const { signal } = new AbortController();
    for (const more of [{}, { LONGHAND_TRANSCRIBE_API_KEY: "own" }]) {
      const heard = await transcriberFrom({ ...env, ...more })?.transcribe(clip, signal);
      expect(heard).toMatchObject({ ok: true, text: "hello" });
    }
    expect(keys).toEqual([undefined, "Bearer own"]);
    server.closeAllConnections();
    server.close();
  });

  it("says what to set where that cannot be", () => {
    const wrong: [Record<string, string>, string][] = [
      [{ LONGHAND_TRANSCRIBE_MODEL: "openai/whisper-1" }, "OPENAI_API_KEY"],
      [{ LONGHAND_TRANSCRIBE_MODEL: "openai/", OPENAI_API_KEY: "k" }, "openai/gpt-4o-mini-transcribe"],
      [{ LONGHAND_TRANSCRIBE_BASE_URL: "localhost:8000" }, "http://127.0.0.1:8000/v1"],
    ];
    for (const [env, says] of wrong) {
      expect(() => transcriberFrom(env)).toThrow(SettingError);
      expect(() => transcriberFrom(env)).toThrow(says);
    }
  });
});
