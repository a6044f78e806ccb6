/**
 * Long answers as each API streams them: thinking, text and the arguments of a tool, in more than two thousand deltas of a
 * few characters. The same in every run.
 */

const THOUGHTS = 700;
const WORDS = 900;
const ARGUMENTS = 600;

const words = (count, seed) =>
  Array.from(
    { length: count },
    (_, at) =>
      [" the", " figures", " of", " November,", "\n- ", ' "north"', " add", " up", " é", " now."][
        (at * 7 + seed) % 10
      ],
  );

const thoughts = words(THOUGHTS, 1);
const said = words(WORDS, 4);
/** The JSON of an object with many rows, cut where a model's tokens end. */
export function argumentPieces(count = ARGUMENTS) {
  const rows = Array.from({ length: Math.ceil(count / 4) }, (_, at) => ({
    id: at,
    region: "north",
    amount: at * 37.25,
  }));
  const json = JSON.stringify({ path: "reports/2026-11/north.csv", rows });
  const size = Math.ceil(json.length / count);
  return Array.from({ length: Math.ceil(json.length / size) }, (_, at) =>
    json.slice(at * size, (at + 1) * size),
  );
}

const named = (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const plain = (event) => `data: ${JSON.stringify(event)}\n\n`;

function anthropic(pieces) {
  const delta = (index, one) => named({ type: "content_block_delta", index, delta: one });
  const start = (index, block) => named({ type: "content_block_start", index, content_block: block });
  const stop = (index) => named({ type: "content_block_stop", index });
  const usage = {
    input_tokens: 2048,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
  };
  const message = {
    id: "msg_01",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  return [
    named({ type: "message_start", message }),
    start(0, { type: "thinking", thinking: "", signature: "" }),
    ...thoughts.map((thinking) => delta(0, { type: "thinking_delta", thinking })),
    delta(0, { type: "signature_delta", signature: "EqQBCkYIBxgC".repeat(20) }),
    stop(0),
    start(1, { type: "text", text: "" }),
    ...said.map((text) => delta(1, { type: "text_delta", text })),
    stop(1),
    start(2, { type: "tool_use", id: "toolu_01", name: "write_table", input: {} }),
    ...pieces.map((partial_json) => delta(2, { type: "input_json_delta", partial_json })),
    stop(2),
    named({
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { output_tokens: 2200 },
    }),
    named({ type: "message_stop" }),
  ];
}

function openaiChat(pieces) {
  const base = {
    id: "chatcmpl-01",
    object: "chat.completion.chunk",
    created: 1_763_000_000,
    model: "gpt-4.1",
    system_fingerprint: "fp_01",
  };
  const chunk = (delta, finish_reason = null) =>
    plain({ ...base, choices: [{ index: 0, delta, logprobs: null, finish_reason }], usage: null });
  const call = {
    index: 0,
    id: "call_01",
    type: "function",
    function: { name: "write_table", arguments: "" },
  };
  const usage = { prompt_tokens: 2048, completion_tokens: 2200, total_tokens: 4248 };
  return [
    chunk({ role: "assistant", content: "", refusal: null }),
    ...thoughts.map((reasoning_content) => chunk({ reasoning_content })),
    ...said.map((content) => chunk({ content })),
    chunk({ tool_calls: [call] }),
    ...pieces.map((text) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
    chunk({}, "tool_calls"),
    plain({ ...base, choices: [], usage }),
    "data: [DONE]\n\n",
  ];
}

function openaiResponses(pieces) {
  let sequence_number = 0;
  const event = (type, fields) => named({ type, sequence_number: sequence_number++, ...fields });
  const response = {
    id: "resp_01",
    object: "response",
    created_at: 1_763_000_000,
    status: "in_progress",
    model: "gpt-5.1",
    output: [],
    tools: [],
    parallel_tool_calls: true,
  };
  const items = [
    {
      id: "rs_01",
      type: "reasoning",
      summary: [{ type: "summary_text", text: thoughts.join("") }],
      encrypted_content: "gAAAA".repeat(40),
    },
    {
      id: "msg_01",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: said.join(""), annotations: [], logprobs: [] }],
    },
    {
      id: "fc_01",
      type: "function_call",
      status: "completed",
      call_id: "call_01",
      name: "write_table",
      arguments: pieces.join(""),
    },
  ];
  const at = (output_index) => ({ item_id: items[output_index].id, output_index });
  const added = (output_index, item) => event("response.output_item.added", { output_index, item });
  const done = (output_index) =>
    event("response.output_item.done", { output_index, item: items[output_index] });
  const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
  const usage = {
    input_tokens: 2048,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 2200,
    output_tokens_details: { reasoning_tokens: 700 },
    total_tokens: 4248,
  };
  return [
    event("response.created", { response }),
    event("response.in_progress", { response }),
    added(0, { id: "rs_01", type: "reasoning", summary: [] }),
    event("response.reasoning_summary_part.added", {
      ...at(0),
      summary_index: 0,
      part: { type: "summary_text", text: "" },
    }),
    ...thoughts.map((delta) =>
      event("response.reasoning_summary_text.delta", { ...at(0), summary_index: 0, delta }),
    ),
    event("response.reasoning_summary_text.done", { ...at(0), summary_index: 0, text: thoughts.join("") }),
    event("response.reasoning_summary_part.done", { ...at(0), summary_index: 0, part: items[0].summary[0] }),
    done(0),
    added(1, { ...items[1], status: "in_progress", content: [] }),
    event("response.content_part.added", { ...at(1), content_index: 0, part }),
    ...said.map((delta) =>
      event("response.output_text.delta", { ...at(1), content_index: 0, delta, logprobs: [] }),
    ),
    event("response.output_text.done", { ...at(1), content_index: 0, text: said.join(""), logprobs: [] }),
    event("response.content_part.done", { ...at(1), content_index: 0, part: items[1].content[0] }),
    done(1),
    added(2, { ...items[2], status: "in_progress", arguments: "" }),
    ...pieces.map((delta) => event("response.function_call_arguments.delta", { ...at(2), delta })),
    event("response.function_call_arguments.done", {
      ...at(2),
      name: "write_table",
      arguments: items[2].arguments,
    }),
    done(2),
    event("response.completed", { response: { ...response, status: "completed", output: items, usage } }),
  ];
}

/** This API streams a call in one piece. */
function gemini(pieces) {
  const usageMetadata = {
    promptTokenCount: 2048,
    candidatesTokenCount: 1500,
    thoughtsTokenCount: 700,
    totalTokenCount: 4248,
  };
  const chunk = (parts, finishReason) =>
    `data: ${JSON.stringify({ candidates: [{ content: { parts, role: "model" }, index: 0, ...(finishReason ? { finishReason } : {}) }], usageMetadata, modelVersion: "gemini-3-flash", responseId: "r01" })}\r\n\r\n`;
  return [
    ...thoughts.map((text) => chunk([{ text, thought: true }])),
    ...said.map((text) => chunk([{ text }])),
    ...said.slice(0, ARGUMENTS).map((text) => chunk([{ text }])),
    chunk([
      {
        functionCall: { name: "write_table", args: JSON.parse(pieces.join("")) },
        thoughtSignature: "c2lnbmVk".repeat(20),
      },
    ]),
    chunk([{ text: "" }], "STOP"),
  ];
}

/** For each API, a stream as text; `pieces` are the arguments of its tool call. */
export const STREAMS = {
  anthropic: (pieces = argumentPieces()) => anthropic(pieces).join(""),
  "openai-chat": (pieces = argumentPieces()) => openaiChat(pieces).join(""),
  "openai-responses": (pieces = argumentPieces()) => openaiResponses(pieces).join(""),
  gemini: (pieces = argumentPieces()) => gemini(pieces).join(""),
};
