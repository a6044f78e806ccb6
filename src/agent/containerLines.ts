import type { Readable } from "node:stream";

/** How much a program may say. */
export type OutputLimits = {
  /** Bytes of one line. */
  lineBytes: number;
  /** Bytes of all lines. */
  outputBytes: number;
};

/** Limits besides those of every run (time, steps, money). */
export type ContainerLimits = OutputLimits & {
  /** Milliseconds without an event. */
  idleMs: number;
  events: number;
  /** Texts, thoughts and tool calls between two lines it reads. */
  parts: number;
  /** Lines that are no events; one more ends the run. */
  badLines: number;
};

export const CONTAINER_LIMITS: ContainerLimits = {
  idleMs: 120_000,
  lineBytes: 1024 * 1024,
  outputBytes: 32 * 1024 * 1024,
  events: 200_000,
  parts: 1000,
  badLines: 20,
};

/** A line, or why no more of them are read. */
export type OutputLine = { type: "line"; text: string } | { type: "problem"; why: string };

const NEWLINE = 10;

/** What a program writes, line by line, never holding more than one line. Ends when the program stops writing. */
export async function* readLines(stream: Readable, limits: OutputLimits): AsyncGenerator<OutputLine, void> {
  let pieces: Buffer[] = [];
  let held = 0;
  let total = 0;
  for await (const chunk of chunksOf(stream)) {
    total += chunk.length;
    if (total > limits.outputBytes) {
      yield { type: "problem", why: `it wrote more than ${limits.outputBytes} bytes` };
      return;
    }
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end);
      if (held + piece.length > limits.lineBytes) return yield tooLong(limits);
      yield { type: "line", text: textOf([...pieces, piece]) };
      pieces = [];
      held = 0;
      start = end + 1;
    }
    const rest = chunk.subarray(start);
    held += rest.length;
    if (held > limits.lineBytes) return yield tooLong(limits);
    if (rest.length > 0) pieces.push(rest);
  }
  if (held > 0) yield { type: "line", text: textOf(pieces) };
}

function tooLong({ lineBytes }: OutputLimits): OutputLine {
  return { type: "problem", why: `it wrote a line of more than ${lineBytes} bytes` };
}

function textOf(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces).toString("utf8");
}

/** A pipe that breaks is a pipe that ends: what went wrong is told by how the program ended. */
async function* chunksOf(stream: Readable): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of stream) yield Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
  } catch {}
}

const LOG_LINES = 1000;
const LOG_LINE_BYTES = 4096;

/**
 * Hands lines to a log, a bounded number of them; the rest is read and forgotten, so that nobody waits for us. `safe`
 * takes out what nobody should read, before a line is clipped: half a secret would not be found any more.
 */
export async function logLines(
  stream: Readable,
  safe: (line: string) => string,
  log: (line: string) => void,
): Promise<void> {
  let lines = 0;
  let text = "";
  let isTold = false;
  const tell = (line: string): void => {
    lines++;
    if (lines < LOG_LINES) log(safe(line).slice(0, LOG_LINE_BYTES));
    if (lines === LOG_LINES) log("(more was said here, and is not kept)");
  };
  for await (const chunk of chunksOf(stream)) {
    if (lines >= LOG_LINES) continue;
    const whole = (text + chunk.toString("utf8")).split("\n");
    text = whole.pop() ?? "";
    for (const line of whole) {
      if (!isTold) tell(line);
      isTold = false;
    }
    // Of a line without end the beginning is kept, and enough is read behind it to know a secret that lies across.
    if (isTold) text = "";
    else if (text.length > 2 * LOG_LINE_BYTES) {
      tell(text);
      text = "";
      isTold = true;
    }
  }
  if (text !== "") tell(text);
}
