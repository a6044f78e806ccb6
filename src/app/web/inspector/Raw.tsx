import { useEffect, useRef, useState } from "preact/hooks";
import { bytes } from "../figures.js";
import type { Page } from "../state.js";
import { isLit, messagesOf } from "./Blocks.js";
import { type Seen, sha256 } from "./seen.js";

/** The body as it went over the wire, and whether it is what the receipt says. */
export function Raw({ page, seen, lit }: { page: Page; seen: Seen; lit: readonly string[] }) {
  const text = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const point = (event: Event): void => {
      const index = event.target instanceof HTMLElement ? Number(event.target.dataset.index) : Number.NaN;
      const block = event.type === "mouseover" ? seen.blocks[index] : undefined;
      page.set({ lit: block ? messagesOf(block) : [] });
    };
    const place = text.current;
    for (const type of ["mouseover", "mouseleave"]) place?.addEventListener(type, point);
    return () => {
      for (const type of ["mouseover", "mouseleave"]) place?.removeEventListener(type, point);
    };
  }, [page, seen]);
  if (seen.body === null) return null;
  return (
    <>
      <Proof seen={seen} body={seen.body} />
      <pre class="raw" ref={text}>
        {seen.blocks.map((block) => (
          <span
            key={block.index}
            data-index={block.index}
            data-kind={block.kind}
            data-lit={isLit(block, lit)}
          >
            {block.text}
          </span>
        ))}
      </pre>
    </>
  );
}

function Proof({ seen, body }: { seen: Seen; body: Uint8Array }) {
  const [computed, setComputed] = useState<string | null>(null);
  useEffect(() => {
    let asked = true;
    void sha256(body).then((hash) => asked && setComputed(hash));
    return () => {
      asked = false;
    };
  }, [body]);
  const recorded = seen.call?.request_sha256 ?? null;
  return (
    <p class="proof">
      {bytes(body.length)} · SHA-256 <code>{computed ?? recorded ?? "…"}</code>{" "}
      {recorded !== null && computed !== null && (
        <span data-status={recorded === computed ? "ok" : "error"}>
          {recorded === computed ? "✓ as the receipt says" : `✗ the receipt says ${recorded}`}
        </span>
      )}
    </p>
  );
}
