import { sseReader } from "../dist/provider/index.js";
import { codecOf } from "../dist/provider/apis.js";
import { besides, MODELS, timed } from "./apis.mjs";
import { decodePeers } from "./decodePeers.mjs";
import { argumentPieces, STREAMS } from "./decodeStreams.mjs";
import { ratioOf } from "./measure.mjs";

/** A long answer from its bytes, beside the least that any reader does: cut at blank lines, and JSON.parse each event. */

/** As TCP brings them. */
const CHUNK = 1400;

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function decodeRow(progress) {
  const lines = [];
  for (const model of MODELS) {
    const { api } = model;
    progress(`${api} beside JSON.parse`);
    const chunks = chunksOf(STREAMS[api]());
    const ours = () => 1000 / timed(() => decode(model, chunks));
    const floor = await besides(ours, () => 1000 / timed(() => parseEach(chunks)));
    lines.push({
      what: `decode a long answer, ${api} / split and JSON.parse`,
      unit: "/s",
      ...ratioOf(floor),
      target: { atLeast: 0.5 },
    });
    for (const { name, read, target } of await decodePeers(model, progress)) {
      progress(`${api} beside ${name}`);
      const pairs = await besides(ours, () => timeOf(read, chunks));
      lines.push({ what: `  / ${name}`, unit: "/s", ...ratioOf(pairs), target });
    }
  }
  return lines;
}

/** Ten times the arguments in ten times the pieces: about ten times the time, where nothing is read twice. */
export async function toolArgumentsRow(progress) {
  const lines = [];
  for (const model of MODELS.filter(({ api }) => api !== "gemini")) {
    const { api } = model;
    progress(api);
    const short = chunksOf(STREAMS[api](argumentPieces(2_000)));
    const long = chunksOf(STREAMS[api](argumentPieces(20_000)));
    const none = chunksOf(STREAMS[api](argumentPieces(4)));
    const took = { short: [], long: [] };
    for (let round = 0; round < 10 + 25; round++) {
      // Without the thinking and the text, which are the same in all of them.
      const rest = timed(() => decode(model, none));
      const [a, b] = [timed(() => decode(model, short)) - rest, timed(() => decode(model, long)) - rest];
      if (round < 10) continue;
      took.short.push(a);
      took.long.push(b);
    }
    const pairs = took.long.map((ours, at) => ({ ours, reference: took.short[at] }));
    lines.push({
      what: `tool arguments in 20,000 pieces / in 2,000, ${api}`,
      unit: "ms",
      ...ratioOf(pairs),
      target: { atMost: 13 },
    });
  }
  return lines;
}

function chunksOf(text) {
  const bytes = new TextEncoder().encode(text);
  return Array.from({ length: Math.ceil(bytes.length / CHUNK) }, (_, at) =>
    bytes.slice(at * CHUNK, (at + 1) * CHUNK),
  );
}

function decode(model, chunks) {
  const reader = sseReader();
  const decoder = codecOf(model.api).decoder(model);
  let deltas = 0;
  for (const chunk of chunks) {
    for (const { data, event } of reader.push(chunk)) deltas += decoder.push(data, event).length;
  }
  for (const { data, event } of reader.end()) deltas += decoder.push(data, event).length;
  const { stopReason } = decoder.end();
  if (stopReason !== "tool_use" || deltas === 0)
    throw new Error(`${model.api}: ${stopReason}, ${deltas} deltas`);
}

function parseEach(chunks) {
  const decoder = new TextDecoder();
  let text = "";
  for (const chunk of chunks) text += decoder.decode(chunk, { stream: true });
  let events = 0;
  for (const part of text.replaceAll("\r", "").split("\n\n")) {
    const at = part.indexOf("data: ");
    if (at === -1 || part.startsWith("[DONE]", at + 6)) continue;
    JSON.parse(part.slice(at + 6));
    events++;
  }
  return events;
}

/** @param {(response: () => Response) => Promise<unknown>} read */
async function timeOf(read, chunks) {
  const response = () =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (const chunk of chunks) controller.enqueue(chunk);
          controller.close();
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  const before = performance.now();
  await read(response);
  return 1000 / (performance.now() - before);
}
