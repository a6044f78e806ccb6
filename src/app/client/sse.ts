/** One server-sent event, as the server framed it. */
export type Frame = { event: string; data: string; id: string };

/** Reads server-sent events out of a stream that may be cut anywhere, inside a character too. */
export class FrameReader {
  readonly #decoder = new TextDecoder("utf-8");
  #rest = "";
  #afterCarriageReturn = false;
  #event = "";
  #data: string[] = [];
  #id: string;
  /** The id of the last block that was complete, also of one that carried no event: where to go on. */
  lastId: string;
  /** Milliseconds the server asked to wait before reconnecting, if it did. */
  retry: number | null = null;

  constructor(lastId = "") {
    this.#id = lastId;
    this.lastId = lastId;
  }

  /** The events that became complete with these bytes. What is incomplete at the end of a stream never happened. */
  read(bytes: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    for (const line of this.#lines(this.#decoder.decode(bytes, { stream: true }))) {
      const frame = this.#line(line);
      if (frame) frames.push(frame);
    }
    return frames;
  }

  *#lines(text: string): Generator<string> {
    // CR LF may be cut in the middle; its LF must not count as a second, empty line.
    const fresh = this.#afterCarriageReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") this.#afterCarriageReturn = text.endsWith("\r");
    const parts = (this.#rest + fresh).split(/\r\n|\n|\r/);
    this.#rest = parts.pop() ?? "";
    yield* parts;
  }

  #line(line: string): Frame | null {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id" && !value.includes("\u0000")) this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
    return null;
  }

  #dispatch(): Frame | null {
    const frame = { event: this.#event || "message", data: this.#data.join("\n"), id: this.#id };
    const empty = this.#data.length === 0;
    this.#event = "";
    this.#data = [];
    this.lastId = this.#id;
    return empty ? null : frame;
  }
}
