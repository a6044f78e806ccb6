import { bedrockPeers, MISSING_PEERS } from "./bedrockPeers.js";
import type { SseEvent, SseReader } from "./sse.js";

/** Before the name of an event that is an error. */
export const EXCEPTION = "exception:";

const LENGTH_BYTES = 4;
/** What AWS allows at most; a frame that claims more has lost its beginning. */
const MOST_BYTES = 24 * 1024 * 1024;
const LEAST_BYTES = 16;

/**
 * Reads AWS event-stream frames from bytes that may be split anywhere. After a frame whose checksum is wrong nothing
 * more is read: what follows it cannot be trusted, and its reader sees that the end is missing.
 */
export async function frameReader(): Promise<SseReader> {
  const peers = await bedrockPeers();
  if (!peers) throw new Error(MISSING_PEERS);
  const codec = new peers.EventStreamCodec(utf8, (text) => Buffer.from(text, "utf8"));
  let chunks: Uint8Array[] = [];
  let size = 0;
  let broken = false;

  /** The next whole frame; null while it has not come. */
  function nextFrame(): Uint8Array | null {
    if (size < LENGTH_BYTES) return null;
    if ((chunks[0]?.length ?? 0) < LENGTH_BYTES) chunks = [Buffer.concat(chunks)];
    const length = lengthIn(chunks[0] ?? new Uint8Array(LENGTH_BYTES));
    broken ||= length < LEAST_BYTES || length > MOST_BYTES;
    if (broken || size < length) return null;
    const all = chunks.length === 1 ? (chunks[0] ?? new Uint8Array()) : Buffer.concat(chunks);
    chunks = all.length > length ? [all.subarray(length)] : [];
    size -= length;
    return all.subarray(0, length);
  }

  function read(frame: Uint8Array): SseEvent | null {
    try {
      const { headers, body } = codec.decode(frame);
      return eventOf((name) => headers[name]?.value, utf8(body));
    } catch {
      broken = true;
      return null;
    }
  }

  return {
    push(bytes) {
      const events: SseEvent[] = [];
      if (broken) return events;
      chunks.push(bytes);
      size += bytes.length;
      for (let frame = nextFrame(); frame && !broken; frame = nextFrame()) {
        const event = read(frame);
        if (event) events.push(event);
      }
      return events;
    },
    end: () => [],
  };
}

function utf8(bytes: Uint8Array | string): string {
  return typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes);
}

function lengthIn(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, false);
}

function eventOf(header: (name: string) => unknown, body: string): SseEvent {
  switch (header(":message-type")) {
    case "exception":
      return { event: `${EXCEPTION}${String(header(":exception-type"))}`, data: body };
    case "error": {
      const message = String(header(":error-message") ?? "");
      return { event: `${EXCEPTION}${String(header(":error-code"))}`, data: JSON.stringify({ message }) };
    }
    default:
      return { event: String(header(":event-type")), data: body };
  }
}
