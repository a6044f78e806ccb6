import type { Call } from "../../../message/receipt.js";
import { contextSize } from "../conversation/aside.js";
import { aboutTokens, bytes, dollars, momentOf, number, seconds, timeOf } from "../figures.js";
import type { Seen } from "./seen.js";

/** The receipt in a few lines: which model, how much, how long, how it ended. */
export function Summary({ seen }: { seen: Seen }) {
  const { call } = seen;
  if (call === null) {
    const size = seen.body?.length ?? 0;
    return (
      <dl class="receipt">
        <Fact name="size">
          {bytes(size)}, {aboutTokens(size)}
        </Fact>
        <Fact name="sent">never: this is a preview</Fact>
      </dl>
    );
  }
  return (
    <dl class="receipt">
      <Fact name="model">
        {call.model} <span class="source">by {call.provider}</span>
      </Fact>
      <Fact name="status">
        <span data-status={call.status}>{ending(call)}</span>
      </Fact>
      {call.usage && <Fact name="tokens">{tokens(call.usage)}</Fact>}
      {call.usage && <Fact name="cost">{dollars(call.cost?.total ?? null)}</Fact>}
      <Fact name="time">
        <time dateTime={call.started_at} title={momentOf(call.started_at)}>
          {timeOf(call.started_at)}
        </time>
        {call.first_token_ms !== null && `, first word after ${seconds(call.first_token_ms)}`}
        {call.duration_ms !== null && `, all after ${seconds(call.duration_ms)}`}
      </Fact>
      {call.error && <Fact name="error">{call.error}</Fact>}
      {call.redacted && <Fact name="redacted">words of a person who was erased are missing</Fact>}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function tokens(usage: NonNullable<Call["usage"]>): string {
  const cached = usage.cache_read_tokens;
  const into = contextSize(usage) - usage.output_tokens;
  const facts = [`${number(into)} in`, cached > 0 ? `${number(cached)} of them from the cache` : null];
  return [...facts, `${number(usage.output_tokens)} out`].filter(Boolean).join(", ");
}

function ending(call: Call): string {
  const attempt = call.attempt > 1 ? `, attempt ${call.attempt}` : "";
  switch (call.status) {
    case "running":
      return `still running${attempt}`;
    case "ok":
      return `${call.stop_reason === "tool_use" ? "asked for a tool" : "finished"}${attempt}`;
    case "error":
      return `failed (${call.error_kind ?? "unknown"})${attempt}`;
    case "aborted":
      return `stopped${attempt}`;
    case "cut":
      return `cut off${attempt}`;
  }
}
