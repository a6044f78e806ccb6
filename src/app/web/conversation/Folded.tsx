import { senderKind } from "../../../message/audience.js";
import type { MessageRow } from "../../../message/row.js";

/** A thought: one pale line, which opens. While it is written its last words pass by, and nothing moves. */
export function Thinking({ text, writing }: { text: string; writing: boolean }) {
  const line = writing ? text.slice(-160) : text.slice(0, 160);
  return (
    <details class="folded" data-kind="thinking">
      <summary>
        <span class="glyph">💭</span>
        <span class="preview" data-end={writing}>
          <bdi>{line.replace(/\s+/g, " ") || "…"}</bdi>
        </span>
      </summary>
      <p class="verbatim">{text}</p>
    </details>
  );
}

/** A tool call with its result, in one line, which opens. */
export function Tool({
  row,
  result,
  running,
}: {
  row: MessageRow;
  result: MessageRow | null;
  running: boolean;
}) {
  const kind = senderKind(row);
  const called = kind === "tool_use" ? row : null;
  const came = kind === "tool_use" ? result : row;
  const name =
    textOf(called?.metadata.name ?? came?.metadata.name) || (kind === "command_output" ? "command" : "tool");
  const args = called ? argumentsOf(called) : "";
  return (
    <details class="folded" data-kind="tool">
      <summary>
        <span class="glyph">🔧</span>
        <span class="tool-name">{name}</span>
        <span class="preview">{(args || came?.content || "").replace(/\s+/g, " ").slice(0, 160)}</span>
        <Mark came={came} running={running} />
      </summary>
      {args && <Machine label="asked" text={pretty(args)} />}
      {came && <Machine label={failed(came) ? "failed" : "answered"} text={came.content} />}
    </details>
  );
}

function Mark({ came, running }: { came: MessageRow | null; running: boolean }) {
  if (came === null && running) {
    return (
      <span class="mark working" role="img" aria-label="running">
        ⋯
      </span>
    );
  }
  const [glyph, label] =
    came === null ? ["–", "no result"] : failed(came) ? ["❌", "failed"] : ["✅", "worked"];
  return (
    <span class="mark" role="img" aria-label={label} title={label}>
      {glyph}
    </span>
  );
}

function Machine({ label, text }: { label: string; text: string }) {
  return (
    <figure class="machine">
      <figcaption>{label}</figcaption>
      <pre>{text || "(nothing)"}</pre>
    </figure>
  );
}

function failed(row: MessageRow): boolean {
  const { is_error, exit_code } = row.metadata;
  return is_error === true || (typeof exit_code === "number" && exit_code !== 0);
}

function argumentsOf(row: MessageRow): string {
  const { args } = row.metadata;
  return args === undefined ? row.content : JSON.stringify(args);
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
