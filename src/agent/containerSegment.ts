import {
  type AssistantContent,
  replaceBadCharacters,
  type ToolCallContent,
  ToolResultContent,
  Usage,
} from "../message/index.js";
import { jsonProblem } from "../message/json.js";
import type { ModelDelta } from "../provider/codec.js";
import type { EventOf } from "./containerEvent.js";
import type { ToolUse } from "./host.js";
import { resultOfOutput } from "./toolResult.js";

const ARGUMENT_LIMITS = { depth: 64, bytes: 256 * 1024, wellFormed: true };
const NOT_RUN = "This tool was not run: the turn was cut short before its time came.";
const UNFINISHED =
  "This tool was cut off before it gave a result. It may or may not have taken effect; check before trying again.";

/** What a container says between two lines it reads: words and tool calls first, then the results of those calls. */
export class Segment {
  readonly contents: AssistantContent[] = [];
  usage: Usage = Usage.none();
  private readonly results = new Map<string, ToolResultContent>();
  private isRunning = false;
  /** Half of a character whose other half is in the next piece. */
  private half = "";

  get calls(): ToolCallContent[] {
    return this.contents.filter((content) => content.type === "tool_call");
  }

  /** May its tools run? Then it speaks no more until they are done. */
  get inTools(): boolean {
    return this.isRunning;
  }

  startTools(): void {
    this.isRunning = true;
  }

  get toolsDone(): boolean {
    return this.results.size === this.calls.length;
  }

  hasText(): boolean {
    return this.contents.some((content) => content.type === "text");
  }

  /** More words of one kind; null when nothing can be shown of them yet. */
  speak({ type, delta }: { type: "text" | "thinking"; delta: string }): ModelDelta | null {
    const last = this.contents.at(-1);
    const whole = this.half + delta;
    this.half = /[\ud800-\udbff]$/.exec(whole)?.[0] ?? "";
    const words = replaceBadCharacters(this.half ? whole.slice(0, -1) : whole);
    if (words === "") return null;
    if (last?.type === type) last.content += words;
    else
      this.contents.push(
        type === "text"
          ? { type: "text", content: words }
          : { type: "thinking", content: words, signature: "" },
      );
    return { type, part: this.contents.length - 1, delta: words };
  }

  /** A tool it is about to use; a text when the event makes no sense here. */
  use({ id, name, args }: EventOf<"tool_use">): ModelDelta | string {
    if (this.calls.some((call) => call.id === id)) return `a second tool_use with the id ${id}`;
    const problem = jsonProblem({ id, name, args }, ARGUMENT_LIMITS);
    if (problem) return `a tool_use whose ${problem.path.join(".") || "arguments"}: ${problem.reason}`;
    this.contents.push({ type: "tool_call", id, name, args });
    return { type: "tool_call", part: this.contents.length - 1, id, name, args };
  }

  /** What came of a tool, with its place in the batch; a text when the event makes no sense here. */
  finish({
    id,
    content,
    is_error,
    terminate,
  }: EventOf<"tool_result">): { index: number; use: ToolUse } | string {
    const index = this.calls.findIndex((call) => call.id === id);
    const wanted = this.calls[index];
    if (!wanted) return `a tool_result for ${id}, which was not asked for`;
    if (this.results.has(id)) return `a second tool_result for ${id}`;
    const result = resultOfOutput(id, { content, isError: is_error, terminate });
    this.results.set(id, result);
    return { index, use: { wanted, result } };
  }

  /** The whole batch in the order of the calls; what has no result is said to be cut off, or never to have run. */
  batch(): ToolUse[] {
    const why = this.isRunning ? UNFINISHED : NOT_RUN;
    return this.calls.map((wanted) => ({
      wanted,
      result: this.results.get(wanted.id) ?? ToolResultContent.error(wanted.id, why),
    }));
  }

  /** What is left when nobody will answer its calls. */
  withoutCalls(): AssistantContent[] {
    return this.contents.filter((content) => content.type !== "tool_call");
  }
}
