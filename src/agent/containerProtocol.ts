import { z } from "zod";
import { ERROR_KINDS, STOP_REASONS, type Usage } from "../message/index.js";

/*
 * What crosses the border between this process and an agent outside it, one JSON value a line. Field names of the
 * envelope are snake_case; `messages` are messages as `formatMessagesForSdk` gives them, with media as strings.
 */

const count = z.int().min(0);
const opaque = z.record(z.string(), z.unknown());
const native = z.object({ api: z.string(), data: z.unknown() }).optional();
const stamp = { id: z.string(), timestamp: z.int().describe("milliseconds since 1970") };

const text = z.object({ type: z.literal("text"), content: z.string(), native });
const image = z.object({
  type: z.literal("image"),
  images: z.array(z.string()).describe("http(s) or data: URLs"),
});
const audio = z.object({ type: z.literal("audio"), audio: z.array(z.string()).describe("data: URLs") });
const thinking = z.object({
  type: z.literal("thinking"),
  content: z.string(),
  signature: z.string(),
  redacted: z.boolean().optional(),
  native,
});
const toolCall = z.object({
  type: z.literal("tool_call"),
  id: z.string(),
  name: z.string(),
  args: opaque,
  kind: z.string().optional(),
  native,
});
const toolResult = z.object({
  type: z.literal("tool_result"),
  id: z.string().describe("of the call it answers"),
  content: z.string(),
  isError: z.boolean(),
  metadata: opaque.describe("always empty here"),
  terminate: z.boolean().describe("always false here"),
  images: z.array(z.string()).optional(),
  audio: z.array(z.string()).optional(),
});
const messageUsage = z.object({
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  reasoningTokens: count.optional(),
  cost: z
    .object({
      input: z.number(),
      output: z.number(),
      cacheRead: z.number(),
      cacheWrite: z.number(),
      total: z.number(),
    })
    .nullable(),
});

/** A message as a container reads it. There is no role for the host: its words never get here. */
export const ContainerMessage = z
  .discriminatedUnion("role", [
    z.object({ role: z.literal("system"), ...stamp, contents: z.array(text) }),
    z.object({
      role: z.literal("user"),
      ...stamp,
      contents: z.array(z.discriminatedUnion("type", [text, image, audio, toolResult])),
    }),
    z.object({
      role: z.literal("assistant"),
      ...stamp,
      contents: z.array(z.discriminatedUnion("type", [text, thinking, toolCall])),
      provider: z.string(),
      api: z.string(),
      model: z.string(),
      stopReason: z.enum(STOP_REASONS),
      usage: messageUsage,
    }),
    z.object({ role: z.literal("tool"), ...stamp, contents: z.array(toolResult) }),
  ])
  .meta({ id: "ContainerMessage" });
export type ContainerMessage = z.infer<typeof ContainerMessage>;

/** The first line a container reads: everything it needs for one turn. */
export const ContainerInput = z.object({
  type: z.literal("input"),
  protocol: z.literal(1),
  chat_jid: z.string(),
  assistant_name: z.string(),
  time_zone: z.string().describe("the chat's, as IANA names it"),
  model: z.string().optional().describe("provider/model, where the operator wants a certain one"),
  limits: z
    .object({ steps: count, time_ms: count, idle_ms: count })
    .describe("when it will be ended: after so many calls, so long a run, so long a silence"),
  system: z.string().describe("the operator's prompt"),
  system_notices: z
    .array(z.string())
    .describe("news for this turn only, to be appended to the system prompt"),
  messages: z.array(ContainerMessage).describe("the conversation, oldest first, ending with what to answer"),
  turn_id: z.string(),
});
export type ContainerInput = z.infer<typeof ContainerInput>;

/** People said something meanwhile: take it in, and go on. */
export const ContainerSteer = z.object({ type: z.literal("steer"), messages: z.array(ContainerMessage) });
/** Go on: nothing was said meanwhile, or the tools that were asked for are on record and may run. */
export const ContainerContinue = z.object({ type: z.literal("continue") });

/** A line a container reads. The end of its input means that the run is over. */
export const ContainerLine = z
  .discriminatedUnion("type", [ContainerInput, ContainerSteer, ContainerContinue])
  .meta({ id: "ContainerLine", description: "a line a container reads" });
export type ContainerLine = z.infer<typeof ContainerLine>;

/** More than any call uses: what a container tells goes into sums that budgets are held against. */
const tokens = count.max(1_000_000_000);
const MOST_USD = 1_000_000;

const usage = z
  .object({
    input_tokens: tokens.default(0),
    output_tokens: tokens.default(0),
    cache_read_tokens: tokens.default(0),
    cache_write_tokens: tokens.default(0),
    reasoning_tokens: tokens.optional(),
    cost_usd: z.number().min(0).max(MOST_USD).optional(),
  })
  .describe(
    "the four classes are disjoint; reasoning is part of output. Leave out cost_usd when it is unknown",
  );

const word = z.string().min(1).max(256);

/** A line a container writes. */
export const ContainerEvent = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("text"), delta: z.string() }).describe("a piece of the answer"),
    z.object({ type: z.literal("thinking"), delta: z.string() }).describe("a piece of its thinking"),
    z
      .object({ type: z.literal("tool_use"), id: word, name: word, args: opaque.default({}) })
      .describe("a tool of its own that it wants to use; it runs once run_tools is answered"),
    z
      .object({ type: z.literal("run_tools") })
      .describe(
        "all tools of this batch are named. Read one line before the first of them runs: by then they are on record",
      ),
    z
      .object({
        type: z.literal("tool_result"),
        id: word.describe("of the tool_use it answers"),
        content: z.string(),
        is_error: z.boolean().default(false),
        terminate: z.boolean().default(false).describe("the turn may end here, if every result says so"),
      })
      .describe("what came of a tool. After the last one of a batch, read one line before going on"),
    z.object({ type: z.literal("usage"), usage }).describe("what a call of a model took; adds up"),
    z
      .object({
        type: z.literal("result"),
        text: z.string().optional().describe("the answer, where no piece of it was sent before"),
        usage: usage.optional().describe("what was not told in a usage event"),
        stop_reason: z.enum(["stop", "length", "refusal"]).default("stop"),
      })
      .describe("the answer is whole. Read one more line: steer, or the end of the input"),
    z
      .object({
        type: z.literal("error"),
        message: z.string(),
        kind: z.enum(ERROR_KINDS).default("unknown"),
        retrying: z.boolean().default(false).describe("it will try again: read one line, then start anew"),
      })
      .describe("what was said since the last line read is void, and, unless retrying, the turn has failed"),
    z.object({ type: z.literal("alive") }).describe("still at work; only to stay within the idle limit"),
  ])
  .meta({ id: "ContainerEvent", description: "a line a container writes" });
export type ContainerEvent = z.infer<typeof ContainerEvent>;
export type ContainerUsage = z.infer<typeof usage>;

/** Usage as a container tells it, in our terms. */
export function usageFrom(told: ContainerUsage): Usage {
  return {
    inputTokens: told.input_tokens,
    outputTokens: told.output_tokens,
    cacheReadTokens: told.cache_read_tokens,
    cacheWriteTokens: told.cache_write_tokens,
    ...(told.reasoning_tokens === undefined ? {} : { reasoningTokens: told.reasoning_tokens }),
    cost:
      told.cost_usd === undefined
        ? null
        : { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: told.cost_usd },
  };
}

/** Usage in the words of the protocol. */
export function usageTold(usage: Usage): ContainerUsage {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    ...(usage.reasoningTokens === undefined ? {} : { reasoning_tokens: usage.reasoningTokens }),
    ...(usage.cost === null ? {} : { cost_usd: usage.cost.total }),
  };
}

/** The protocol as one JSON Schema: what a container reads, and what it writes. */
export function containerSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(z.union([ContainerLine, ContainerEvent]), { io: "input" });
  return { $schema, title: "The container protocol, version 1: one JSON value a line", ...schema };
}
