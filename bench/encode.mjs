import { encode, encodeMemory } from "../dist/provider/index.js";
import { besides, MODELS, timed } from "./apis.mjs";
import { conversation, SYSTEM, TOOLS } from "./encodeHistory.mjs";
import { encodePeers } from "./encodePeers.mjs";
import { ratioOf } from "./measure.mjs";
import { timeToBody } from "./peers.mjs";

/** A history of 1,000 messages as a request body: from scratch, beside one JSON.stringify; and again when it has grown. */

const MESSAGES = 1_000;
const ROUNDS = 80;
const WARM_UP = 40;

/** Both sides give one flat text, as sending needs it; V8 would otherwise put that off. @param {string} text */
const flat = (text) => text.charCodeAt(text.length - 1);

function requestFor(model) {
  return { system: SYSTEM, messages: conversation(MESSAGES, model), tools: TOOLS };
}

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function encodeRow(progress) {
  const lines = [];
  for (const model of MODELS) {
    progress(`${model.api} beside JSON.stringify`);
    const request = requestFor(model);
    const value = JSON.parse(encode(model, request).body);
    // Speeds, so that more is better: histories a second.
    const pairs = await besides(
      () => 1000 / timed(() => flat(encode(model, request).body)),
      () => 1000 / timed(() => flat(JSON.stringify(value))),
    );
    lines.push({
      what: `encode ${MESSAGES.toLocaleString("en")} messages, ${model.api} / JSON.stringify of the body`,
      unit: "/s",
      ...ratioOf(pairs),
      target: { atLeast: 0.8 },
    });
  }
  return [...lines, ...(await besideOthers(progress))];
}

/** All four give Anthropic's spelling to something that stands in for the network. */
async function besideOthers(progress) {
  const [model] = MODELS;
  const request = requestFor(model);
  const lines = [];
  for (const { name, ask } of await encodePeers(request, model, progress)) {
    progress(`beside ${name}`);
    const pairs = await besides(
      () => 1000 / timed(() => flat(encode(model, request).body)),
      async () => 1000 / (await timeToBody(ask)).ms,
    );
    lines.push({ what: `  ${model.api} / ${name}`, unit: "/s", ...ratioOf(pairs), target: { atLeast: 1 } });
  }
  return lines;
}

/** The next call of the same chat: what the model asked of its tools, and what they gave, have been added. */
export async function encodeNextRow(progress) {
  const lines = [];
  for (const model of MODELS) {
    progress(model.api);
    const whole = requestFor(model);
    const asked = whole.messages.findLastIndex(({ contents }) =>
      contents.some(({ type }) => type === "tool_call"),
    );
    const before = { ...whole, messages: whole.messages.slice(0, asked) };
    const after = { ...whole, messages: whole.messages.slice(0, asked + 2) };
    const memory = encodeMemory();
    const next = [];
    const laidOut = [];
    const scratch = [];
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      encode(model, before, memory);
      let body = "";
      next.push(timed(() => (body = encode(model, after, memory).body)));
      laidOut.push(timed(() => flat(body)));
      scratch.push(timed(() => flat(encode(model, after).body)));
    }
    const pairs = next.map((ours, at) => ({ ours, reference: scratch[at] })).slice(WARM_UP);
    lines.push({
      what: `the next call, ${model.api} / from scratch`,
      unit: "ms",
      ...ratioOf(pairs),
      target: { atMost: 0.05 },
    });
    const whole1 = next
      .map((ours, at) => ({ ours: ours + laidOut[at], reference: scratch[at] }))
      .slice(WARM_UP);
    lines.push({
      what: "  and its text in one piece, as for sending",
      unit: "ms",
      ...ratioOf(whole1),
      target: null,
    });
  }
  return lines;
}
