// A whole container: reads the turn on standard input, answers on standard output, one JSON value a line.
// With OPENAI_BASE_URL and OPENAI_MODEL it asks that model; without, it answers by itself, so it runs anywhere.
import { createInterface } from "node:readline";

const { OPENAI_BASE_URL: baseUrl, OPENAI_MODEL: model, OPENAI_API_KEY: key } = process.env;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const send = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

/** The next line, or null when the run is over. */
async function read() {
  const { done, value } = await lines.next();
  return done ? null : JSON.parse(value);
}

/** What was said, as Chat Completions spells it: the words alone. */
const spell = ({ role, contents }) => {
  const text = contents.map((part) => (part.type === "text" ? part.content : "")).join("");
  return text === "" || role === "tool" ? [] : [{ role, content: text }];
};

async function* ask(system, messages) {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) },
    body: JSON.stringify({
      model,
      stream: true,
      messages: [{ role: "system", content: system }, ...messages],
    }),
  });
  if (!response.ok) throw new Error(`the model answered ${response.status}`);
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const whole = (rest + chunk).split("\n");
    rest = whole.pop();
    for (const line of whole.filter((line) => line.startsWith("data: {"))) {
      yield JSON.parse(line.slice(6)).choices?.[0]?.delta?.content ?? "";
    }
  }
}

async function* answerAlone(_system, messages) {
  const last = messages.filter(({ role }) => role === "user").at(-1)?.content ?? "nothing";
  yield "I am a container, and there is no model behind me. ";
  yield `The last I was told is: ${last}`;
}

// It has no tools. One that has names them (`tool_use`), sends `run_tools`, and reads a line before it runs them.
const input = await read();
const system = [input.system, ...input.system_notices].join("\n\n");
const messages = input.messages.flatMap(spell);
for (let next = input; next; next = await read()) {
  if (next.type === "steer") messages.push(...next.messages.flatMap(spell));
  let text = "";
  for await (const delta of (baseUrl && model ? ask : answerAlone)(system, messages)) {
    if (delta !== "") send({ type: "text", delta });
    text += delta;
  }
  messages.push({ role: "assistant", content: text });
  send({ type: "result" });
}
