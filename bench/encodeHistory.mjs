import { Usage } from "../dist/message/index.js";

/**
 * A conversation as chats have them: people with names, answers with thinking, tools in parallel and their output, now
 * and then a picture by its address. The same in every run. One turn is three to seven messages.
 */

const PEOPLE = ["Olivia", "Jürgen", "Amara", "小林", "Sofía"];
const SAID = [
  "Can you check whether the figures from the north add up now?",
  "I looked at them again, and the third column is still off by about 2 %. See the sheet that Amara sent on Monday.",
  "thanks! that helps 🙏",
  'He wrote "ship it by Friday", but I doubt that we can; what would have to be true for that?',
  "Here is what I get:\n\n```\n$ make report\nreport.py:41: warning: total differs from sum of parts (1204 != 1198)\n```\n\nIs that the same thing?",
  "Let us wait for the others, then decide. Meanwhile please write down what is known, in five lines or so, for people who were not here.",
];
const ANSWERED = [
  "I have checked: the sums agree in all but one place.\n\n- north: 1,204 (was 1,198)\n- south: 988\n- east: 1,310\n\nThe difference of six comes from two orders that were booked twice on the 3rd. If they are taken out, every column adds up. I would do that before anybody sends the report.",
  "Yes. The warning is the same one: the total is read from the export, the parts from the database, and the export is a day older. Running the export again makes it go away.\n\n```sh\nmake export report\n```\n\nIt takes about four minutes, and nobody has to stop working meanwhile.",
  "What is known so far:\n\n1. The third column was off by 2 %.\n2. Two orders were booked twice.\n3. The export was a day old.\n4. Both are put right now.\n5. The report of Friday is not affected; the one of Monday is, and has been sent to three people.",
  "For that, three things would have to be true: the review is done by Wednesday, nobody finds anything serious in it, and the people in the east have their access. The first is likely, the second usual, the third I cannot tell from here.",
];
const THOUGHT =
  "They want to know whether the sums agree. I should look at the sheet first, then at the database, and compare the two; the difference was six last time, which is two orders of three. If that is so again, it is the double booking and not the export. I will say which of the two it is, and what to do about it, and keep it short because there are several people here.";
const OUTPUT =
  "id\tregion\tamount\tbooked_at\n" +
  Array.from(
    { length: 18 },
    (_, row) =>
      `${4000 + row}\tnorth\t${(row * 37.25 + 11).toFixed(2)}\t2026-11-0${1 + (row % 9)}T08:1${row % 10}:00Z`,
  ).join("\n");
const LISTING = '{"files":["report.py","export.sql","north.csv","south.csv"],"total":4,"truncated":false}';
const SIGNATURE = "EqQBCkYIBxgCKkBd".repeat(20);

/** @typedef {import("../dist/message/index.js").LLMMessage} LLMMessage */

/**
 * @param {number} count how many messages
 * @param {{ provider: string, api: string, id: string }} model whose answers they are
 * @returns {LLMMessage[]}
 */
export function conversation(count, model) {
  /** @type {LLMMessage[]} */
  const messages = [];
  for (let turn = 0; messages.length < count; turn++) messages.push(...turnOf(turn, model));
  const last = messages.findLastIndex(({ role }, at) => role === "user" && at < count);
  // Texts of their own, each in one piece, as they come from a store.
  return JSON.parse(JSON.stringify(messages.slice(0, last + 1)));
}

function turnOf(turn, model) {
  const said = [person(turn, 0), ...(turn % 3 === 0 ? [person(turn, 1)] : [])];
  if (turn % 3 === 2) return [...said, answer(turn, model)];
  const calls = Array.from({ length: 1 + (turn % 3) }, (_, at) => callOf(turn, at));
  return [...said, asking(turn, calls, model), results(turn, calls), answer(turn, model)];
}

function person(turn, at) {
  const name = PEOPLE[(turn + at) % PEOPLE.length];
  const text = `[${name}]: ${SAID[(turn * 2 + at) % SAID.length]}`;
  const picture =
    turn % 25 === 7 && at === 0
      ? [{ type: "image", images: [`https://files.example.org/${turn}/sheet.png`] }]
      : [];
  return {
    role: "user",
    id: `u${turn}-${at}`,
    timestamp: turn,
    contents: [{ type: "text", content: text }, ...picture],
  };
}

function callOf(turn, at) {
  const args =
    at === 0
      ? { path: `reports/2026-11/${turn}/north.csv`, limit: 18, columns: ["id", "region", "amount"] }
      : { folder: "reports/2026-11" };
  return {
    type: "tool_call",
    id: `toolu_01${String(turn).padStart(6, "0")}${at}AbCdEfGh`,
    name: at === 0 ? "read_table" : "list_files",
    args,
  };
}

function asking(turn, calls, model) {
  // Chat Completions signs nothing, and its vendor takes no thinking back.
  const signature = model.api === "openai-chat" ? "" : SIGNATURE;
  const contents = [
    { type: "thinking", content: THOUGHT, signature },
    { type: "text", content: "Let me look at the sheet." },
    ...calls,
  ];
  return made(`c${turn}`, contents, "tool_use", turn, model);
}

/** Responses numbers and names what it said, and wants it back so. */
function withTraces(contents, turn) {
  return contents.map((content, at) => {
    const item = {
      id: `rs_${turn}`,
      type: "reasoning",
      summary: [{ type: "summary_text", text: content.content }],
    };
    const data =
      content.type === "thinking"
        ? { at, item }
        : { at, id: `${content.type === "text" ? "msg" : "fc"}_${turn}${at}` };
    return { ...content, native: { api: "openai-responses", data } };
  });
}

function results(turn, calls) {
  const contents = calls.map(({ id }, at) => ({
    type: "tool_result",
    id,
    content: at === 0 ? OUTPUT : LISTING,
    isError: turn % 40 === 3,
    metadata: { took_ms: 12 },
    terminate: false,
  }));
  return { role: "tool", id: `r${turn}`, timestamp: turn, contents };
}

function answer(turn, model) {
  return made(`a${turn}`, [{ type: "text", content: ANSWERED[turn % ANSWERED.length] }], "stop", turn, model);
}

function made(id, said, stopReason, timestamp, model) {
  const { provider, api } = model;
  const contents = api === "openai-responses" ? withTraces(said, id) : said;
  const envelope = { usage: Usage.none(), stopReason, provider, api, model: model.id };
  return { role: "assistant", id, timestamp, contents, ...envelope };
}

/** The tools the conversation had. */
export const TOOLS = ["read_table", "list_files", "search", "write_note"].map((name) => ({
  name,
  description: `Does what its name says: ${name}. Paths are relative to the folder of the chat.`,
  parameters: {
    type: "object",
    properties: {
      path: { type: "string", description: "Where it is." },
      limit: { type: "integer", minimum: 1, maximum: 1000 },
    },
    required: ["path"],
  },
}));

export const SYSTEM = `You are Longhand, one voice among several people. ${"Say what you know and how you know it. ".repeat(20)}`;
