import { AssistantMessage, clip, type LLMMessage, replaceBadCharacters, Usage } from "../message/index.js";
import { encode } from "../provider/call.js";
import type { EncodedRequest, Model, ModelRequest } from "../provider/codec.js";
import { encodeContinue, encodeSteer } from "../provider/container.js";
import type { Container } from "./container.js";
import { type EventOf, type Failure, howItEnded, readEvent, withoutSecrets } from "./containerEvent.js";
import { type IdleWatch, watchIdle } from "./containerIdle.js";
import { CONTAINER_LIMITS, type ContainerLimits, logLines, readLines } from "./containerLines.js";
import { type ContainerEvent, type ContainerUsage, usageFrom } from "./containerProtocol.js";
import { Segment } from "./containerSegment.js";
import type { Deadline } from "./deadline.js";
import type { AgentEnd, AgentHost, AgentLimits, PreparedCall, Verdict } from "./host.js";
import { launchOf } from "./isolation.js";
import { sandboxProblem } from "./isolationProbe.js";
import { type Exit, type OutsideProcess, startProcess } from "./isolationProcess.js";

/** After its last word, before it is made to end. */
const FAREWELL_MS = 2000;
const MAX_ERROR = 2000;
const CLOSED: Failure = { kind: "cut", text: "it closed its output before it gave a result" };

type Given = {
  host: AgentHost;
  container: Container;
  model: Model;
  limits: AgentLimits;
  deadline: Deadline;
};

/** How a line ends the run, if it does. */
type Ended = AgentEnd | "failed" | null;

/** One conversation with a container: it speaks, is answered by a line, and speaks again, until its result stands. */
export class ContainerRun {
  private readonly limits: ContainerLimits;
  /** Messages it has been told. */
  private readonly told = new Set<string>();
  private call: PreparedCall | null = null;
  private segment = new Segment();
  private isAnswered = false;
  steps = 0;
  spentUsd = 0;
  private attempt = 1;
  private events = 0;
  private badLines = 0;
  private failure: Failure | null = null;
  private process: OutsideProcess | null = null;
  private idle: IdleWatch | null = null;

  constructor(private readonly given: Given) {
    this.limits = { ...CONTAINER_LIMITS, ...given.container.limits };
  }

  async run(): Promise<AgentEnd> {
    const over = this.mayNotGoOn();
    if (over) return over;
    const request = await this.request();
    const refused = await this.record(encode(this.given.model, request));
    if (refused) return refused;
    this.news(request);
    const { container, host, deadline } = this.given;
    const problem = await sandboxProblem(container);
    if (problem) return this.fail({ kind: "unknown", text: problem });
    if (this.stopped()) return this.stop();
    const name = `longhand-${host.newId()}`;
    const outside = startProcess(launchOf(container, container.command, name));
    this.process = outside;
    const stop = (): void => void outside.end();
    deadline.signal.addEventListener("abort", stop, { once: true });
    try {
      return await this.converse(outside);
    } finally {
      this.idle?.end();
      deadline.signal.removeEventListener("abort", stop);
      await outside.end();
    }
  }

  private async converse(outside: OutsideProcess): Promise<AgentEnd> {
    const { host, container } = this.given;
    const { log = () => {} } = container;
    void logLines(outside.stderr, (line) => this.safe(line), log);
    this.idle = watchIdle(host, this.limits.idleMs, () => {
      this.failure ??= { kind: "timeout", text: `it said nothing for ${this.limits.idleMs / 1000} s` };
      void outside.end();
    });
    outside.write(this.call?.encoded.body ?? "");
    for await (const line of readLines(outside.stdout, this.limits)) {
      if (this.stopped() || this.failure) break;
      this.idle.busy(true);
      const end = line.type === "problem" ? this.broken(line.why) : await this.take(line.text);
      this.idle.busy(false);
      if (end) return await this.goodbye(outside, end);
    }
    if (this.stopped()) return this.stop();
    const exit = this.failure ? null : await this.exitOf(outside);
    return this.fail(this.failure ?? (exit ? howItEnded(exit) : CLOSED));
  }

  /** It has said its last word: its input ends, and it has a moment to end by itself. */
  private async goodbye(outside: OutsideProcess, end: AgentEnd | "failed"): Promise<AgentEnd> {
    if (end === "failed") return this.fail(this.failure ?? { kind: "unknown", text: "it failed" });
    outside.hangUp();
    await this.exitOf(outside);
    return end;
  }

  /** How it ended, if it does so within a moment. */
  private async exitOf(outside: OutsideProcess): Promise<Exit | null> {
    const waiting = new AbortController();
    const waited = this.given.host.sleep(FAREWELL_MS, waiting.signal).then(
      () => null,
      () => null,
    );
    const exit = await Promise.race([outside.exited, waited]);
    waiting.abort();
    return exit;
  }

  /** One line of its output. Null: it may go on. */
  private async take(line: string): Promise<Ended> {
    this.events++;
    if (this.events > this.limits.events)
      return this.broken(`it sent more than ${this.limits.events} events`);
    if (line.trim() === "") return null;
    const event = readEvent(line, (text) => this.safe(text));
    if (typeof event === "string") return this.bad(event);
    return event ? this.handle(event) : null;
  }

  private async handle(event: ContainerEvent): Promise<Ended> {
    const { segment, call } = this;
    const { host } = this.given;
    if (!call) throw new Error("a container spoke before it was told anything");
    switch (event.type) {
      case "text":
      case "thinking": {
        if (segment.inTools) return this.bad(`${event.type} before the tools were done`);
        const delta = segment.speak(event);
        if (delta) host.delta(call, delta);
        return this.tooMany();
      }
      case "tool_use": {
        if (segment.inTools) return this.bad("a tool_use before the tools were done");
        const delta = segment.use(event);
        if (typeof delta === "string") return this.bad(delta);
        host.delta(call, delta);
        return this.tooMany();
      }
      case "run_tools":
        return this.startTools(call);
      case "tool_result":
        return this.takeResult(call, event);
      case "usage":
        this.addUsage(event.usage);
        return null;
      case "result":
        return this.takeAnswer(call, event);
      case "error":
        return this.takeError(event);
      case "alive":
        return null;
    }
  }

  /** Its tools are durable before one of them may run: after a crash, nobody runs them again unknowing. */
  private async startTools(call: PreparedCall): Promise<Ended> {
    const { segment } = this;
    if (segment.calls.length === 0) return this.broken("it wanted to run tools and named none");
    if (segment.inTools) return this.broken("it wanted to run its tools twice");
    await this.answerWithCalls(call);
    if (this.stopped()) return null;
    segment.startTools();
    this.process?.write(encodeContinue().body);
    return null;
  }

  private async takeResult(call: PreparedCall, event: EventOf<"tool_result">): Promise<Ended> {
    const { segment } = this;
    const { host } = this.given;
    if (segment.calls.length > 0 && !segment.inTools)
      return this.broken("it ran a tool before its run_tools was answered");
    const finished = segment.finish(event);
    if (typeof finished === "string") return this.bad(finished);
    if (segment.calls.length > 1) await host.toolDone(call.id, finished.index, finished.use);
    if (!segment.toolsDone) return null;
    const batch = segment.batch();
    const last = batch.every(({ result }) => result.terminate);
    const verdict = await host.toolsFinished(call.id, batch, last);
    this.attempt = 1;
    return verdict === "end" ? { status: "answered" } : this.goOn(verdict);
  }

  private async takeAnswer(call: PreparedCall, event: EventOf<"result">): Promise<Ended> {
    const { segment } = this;
    const { host } = this.given;
    if (segment.calls.length > 0) return this.broken("it gave its result before those of its tools");
    if (event.usage) this.addUsage(event.usage);
    if (event.text && !segment.hasText()) {
      const delta = segment.speak({ type: "text", delta: event.text });
      if (delta) host.delta(call, delta);
    }
    const message = this.message(event.stop_reason);
    this.isAnswered = true;
    const verdict = await host.answered(call, message, true);
    this.attempt = 1;
    return verdict === "end" ? { status: "answered" } : this.goOn("joined");
  }

  private async takeError(event: EventOf<"error">): Promise<Ended> {
    this.failure = { kind: event.kind, text: event.message };
    if (!event.retrying) return "failed";
    await this.closeSegment(this.explained(this.failure));
    this.failure = null;
    this.attempt++;
    return this.goOn("go_on");
  }

  /** Answers with the next line: what people said meanwhile, or that they said nothing. */
  private async goOn(verdict: Verdict): Promise<AgentEnd | null> {
    this.steps++;
    const over = this.mayNotGoOn();
    if (over) return over;
    // Usage that came with the results of tools belongs to what follows.
    const { usage } = this.segment;
    this.segment = new Segment();
    this.segment.usage = usage;
    this.isAnswered = false;
    const line = verdict === "joined" ? await this.steer() : encodeContinue();
    const refused = await this.record(line);
    if (refused) return refused;
    this.process?.write(line.body);
    return null;
  }

  private mayNotGoOn(): AgentEnd | null {
    const { limits } = this.given;
    if (this.stopped()) return this.stopEnd();
    if (this.steps >= limits.steps) return { status: "out_of_steps" };
    if (limits.usd !== null && this.spentUsd >= limits.usd) return { status: "out_of_money" };
    return null;
  }

  private async steer(): Promise<EncodedRequest> {
    const request = await this.request();
    const news = this.news(request);
    return encodeSteer(request, (message) => news.has(message.id));
  }

  /** What people said that it has not been told; its own words it knows. */
  private news({ messages, origins }: ModelRequest): Set<string> {
    const isNew = ({ id, role }: LLMMessage): boolean =>
      !this.told.has(id) && (role === "user" || role === "system") && origins?.get(id)?.kind !== "summary";
    const news = new Set(messages.filter(isNew).map(({ id }) => id));
    for (const { id } of messages) this.told.add(id);
    return news;
  }

  private async request(): Promise<ModelRequest> {
    const next = await this.given.host.request("model");
    if (!next) throw new Error("there is no request for the chat's own model");
    if (!next.request.about) throw new Error("a container must be told which turn its request is for");
    return next.request;
  }

  /** The bytes are on the receipt before the first of them leaves. */
  private async record(encoded: EncodedRequest): Promise<AgentEnd | null> {
    const unsaved = { attempt: this.attempt, model: this.given.model, encoded };
    const recorded = await this.given.host.record(unsaved);
    if (!recorded.ok) return { status: "refused", why: recorded.why };
    this.call = { ...unsaved, id: recorded.id };
    return null;
  }

  private addUsage(told: ContainerUsage): void {
    const usage = usageFrom(told);
    this.spentUsd += usage.cost?.total ?? 0;
    this.segment.usage = Usage.add(this.segment.usage, usage);
  }

  private async answerWithCalls(call: PreparedCall): Promise<void> {
    if (this.isAnswered) return;
    const message = this.message("tool_use");
    this.isAnswered = true;
    await this.given.host.answered(call, message, false);
  }

  private message(stopReason: AssistantMessage["stopReason"], failure?: Failure): AssistantMessage {
    const { segment } = this;
    const { host, model } = this.given;
    const usage = segment.usage;
    segment.usage = Usage.none();
    return AssistantMessage.of(stopReason === "tool_use" ? segment.contents : segment.withoutCalls(), {
      usage,
      stopReason,
      provider: model.provider,
      api: model.api,
      model: model.id,
      id: host.newId(),
      timestamp: host.now(),
      ...(failure ? { error: failure.text, errorKind: failure.kind } : {}),
    });
  }

  /** A line that is no event. A few are forgiven: a stray print must not cost anybody an answer. */
  private bad(why: string): "failed" | null {
    this.badLines++;
    this.given.container.log?.(`not an event: ${clip(this.safe(why), 500)}`);
    if (this.badLines <= this.limits.badLines) return null;
    return this.broken(
      `it sent ${this.badLines} lines that are no events, the last: ${clip(this.safe(why), 200)}`,
    );
  }

  /** Each part of what it says is a row of the chat. */
  private tooMany(): "failed" | null {
    const { parts } = this.limits;
    return this.segment.contents.length > parts ? this.broken(`it spoke in more than ${parts} parts`) : null;
  }

  private broken(why: string): "failed" {
    this.failure ??= { kind: "unknown", text: why };
    return "failed";
  }

  /** What was said so far stays, as a failed answer. */
  private async fail(failure: Failure): Promise<AgentEnd> {
    return { status: "failed", message: await this.closeSegment(this.explained(failure)) };
  }

  private explained({ kind, text }: Failure): Failure {
    const words = replaceBadCharacters(this.safe(`the container ${this.given.model.id} failed: ${text}`));
    return { kind, text: clip(words, MAX_ERROR) };
  }

  private async stop(): Promise<AgentEnd> {
    await this.closeSegment(null);
    return this.stopEnd();
  }

  /** Nothing stays open: calls get results that say they were cut off, and words are kept as they are. */
  private async closeSegment(failure: Failure | null): Promise<AssistantMessage> {
    const { segment, call } = this;
    const { host } = this.given;
    if (!call) throw new Error("a container was closed before it was opened");
    if (segment.calls.length > 0) {
      await this.answerWithCalls(call);
      await host.toolsFinished(call.id, segment.batch(), false);
      return this.empty(failure);
    }
    const message = this.message(failure ? "error" : "aborted", failure ?? undefined);
    await host.answered(call, message, false);
    return message;
  }

  private empty(failure: Failure | null): AssistantMessage {
    this.segment = new Segment();
    return this.message(failure ? "error" : "aborted", failure ?? undefined);
  }

  private stopped(): boolean {
    return this.given.deadline.signal.aborted;
  }

  private stopEnd(): AgentEnd {
    return { status: this.given.deadline.isOver() ? "out_of_time" : "stopped" };
  }

  private safe(text: string): string {
    return withoutSecrets(text, this.given.container.env ?? {});
  }
}
