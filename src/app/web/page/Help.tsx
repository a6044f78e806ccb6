import { useEffect, useRef } from "preact/hooks";

const KEYS: readonly (readonly [string, string])[] = [
  ["j  k", "the next message, the one before"],
  ["i", "what the model saw when it said this"],
  ["n", "what it would see now"],
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
];

/** The keys, and the hands in which the notebook is written. */
export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={onClose}>
      <form method="dialog">
        <h2 id="help-title">Keys and hands</h2>
        <button class="quiet" type="submit" aria-label="Close help">
          ✕
        </button>
      </form>
      <dl class="keys">
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <dl class="keys">
        {HANDS.map(([glyph, means]) => (
          <div key={glyph}>
            <dt>{glyph}</dt>
            <dd>{means}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
