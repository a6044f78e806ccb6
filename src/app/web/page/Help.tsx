import { Sheet } from "./Sheet.js";

const KEYS: readonly (readonly [string, string])[] = [
  ["j  k", "the next message, the one before"],
  ["i", "what the model saw when it said this"],
  ["n", "what it would see now"],
  ["f", "fork: go on from this message, on a branch of its own"],
  ["b", "branches: every way this conversation went"],
  ["/", "search this chat"],
  ["c", "write"],
  ["G", "go to the end"],
  ["Esc", "leave the composer; close what is open"],
  ["?", "this page"],
];

const HANDS: readonly (readonly [string, string])[] = [
  ["💭", "what the model thought"],
  ["🔧", "a tool it used; ✅ it worked, ❌ it did not"],
  ["⚙️", "standing instructions, which the model sees"],
  ["🏠", "news for people; no model ever sees it"],
  ["📊", "what an answer took"],
  ["⑂", "here the conversation forked"],
  ["❧", "a summary, which the model reads instead of what came before"],
];

/** Words that are for the server, not for the model; the answer costs nothing. */
const COMMANDS: readonly (readonly [string, string])[] = [
  ["btw …", "while it writes: joins the answer"],
  ["todo …", "while it writes: is answered afterwards"],
  ["todos", "what waits"],
  ["stop", "ends the answer; what was said stays"],
  ["reset context", "a fresh start; nothing is deleted"],
  ["context", "how much the model would see"],
  ["usage", "tokens and money of this chat"],
  ["model …", "which model answers, or another one"],
  ["done", "farewell, and a fresh start"],
];

/** The keys, and the hands in which the notebook is written. */
export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Sheet title="Keys and hands" onClose={onClose}>
      <Words pairs={KEYS} keys />
      <Words pairs={HANDS} />
      <h3>Said in a chat</h3>
      <Words pairs={COMMANDS} wide />
    </Sheet>
  );
}

type WordsProps = { pairs: readonly (readonly [string, string])[]; keys?: boolean; wide?: boolean };

function Words({ pairs, keys = false, wide = false }: WordsProps) {
  return (
    <dl class={wide ? "keys wide" : "keys"}>
      {pairs.map(([key, does]) => (
        <div key={key}>
          <dt>{keys ? <kbd>{key}</kbd> : key}</dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  );
}
