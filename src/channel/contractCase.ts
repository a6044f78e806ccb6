import { setTimeout as wait } from "node:timers/promises";
import type { Channel, Gate, InboundMessage, OutgoingMessage, Received, SendOptions } from "./channel.js";

/** A channel with its platform played by a fake, fresh for every case and not yet started. */
export type ChannelUnderTest = {
  channel: Channel;
  platform: FakePlatform;
  /** A place the fake platform has, as an address of the channel. */
  address: string;
  /** Whatever must never be told in a failure: tokens, keys, paths that are secrets. */
  secrets: readonly string[];
  dispose(): Promise<void>;
};

/** A message as the platform's people wrote it; the fake spells it the platform's way. */
export type Said = { id: string; text: string; thread: string | null };

/** How the platform was answered: done, `retry` for one that makes it push again, `refused` for one that does not. */
export type Acknowledgement = "accepted" | "retry" | "refused";

/** One try that reached the platform, also one that it let fail. */
export type Attempt = { key: string | null; text: string; thread: string | null };

/** A message people on the platform see, in its present wording. */
export type Shown = { externalId: string; text: string; thread: string | null };

export type Failure =
  | { kind: "too_many"; retryAfterS: number }
  | { kind: "server_error" }
  | { kind: "rejected" }
  /** Takes the message, shows it, and closes the connection without an answer. */
  | { kind: "hang_up" }
  /** Takes the message and never answers. */
  | { kind: "silence" };

/** The platform's side, driven by the suite. */
export type FakePlatform = {
  /** Somebody speaks at the address. Resolves with the channel's answer to the push. */
  deliver(said: Said): Promise<Acknowledgement>;
  /** The next send meets this; the ones after it go well. */
  failNext(failure: Failure): void;
  attempts(): Attempt[];
  shown(): Shown[];
  /** Whether messages of this platform can belong to a thread. */
  threads: boolean;
  /** Somebody who lacks the secret pushes. Only where pushes are signed. */
  forge?(said: Said): Promise<Acknowledgement>;
};

export type ContractResult = { skipped: string | null };
export type ContractCase = { name: string; run(): Promise<ContractResult> };
export type Make = () => Promise<ChannelUnderTest>;

/** One case on a channel of its own, stopped and put away whatever happens. */
export function contractCase(
  make: Make,
  name: string,
  body: (under: ChannelUnderTest) => Promise<string | undefined>,
): ContractCase {
  const run = async (): Promise<ContractResult> => {
    const under = await make();
    try {
      return { skipped: (await body(under)) ?? null };
    } finally {
      await under.channel.stop();
      await under.dispose();
    }
  };
  return { name, run };
}

/** A gate that keeps what it heard and answers as told: `stored`, unless a case says otherwise. */
export function recordingGate(answer: (message: InboundMessage, nth: number) => Promise<Received> = stored) {
  const heard: InboundMessage[] = [];
  const gate: Gate = {
    receive: (message) => {
      heard.push(message);
      return answer(message, heard.length);
    },
  };
  return { gate, heard };
}

/** The gate's everyday answer. */
export async function stored(_message: InboundMessage, nth: number): Promise<Received> {
  const answer = { message_id: `m${nth}`, chat_jid: "chat", seq: nth, duplicate: false };
  return { status: "stored", answer: { ...answer, admission: "run", reason: "always" } };
}

/** A message of the assistant's, ready to be sent. */
export function outgoing(text: string): OutgoingMessage {
  return {
    message_id: "m1",
    chat_jid: "chat",
    sender: "bot",
    sender_name: "Longhand",
    message_type: "assistant",
    text,
    content: text,
    timestamp: "2026-01-02T03:04:05.000Z",
  };
}

/** Send options with the case's own key; patience without end unless a signal is given. */
export function sending(key: string, more: Partial<SendOptions> = {}): SendOptions {
  return { key, thread: null, signal: new AbortController().signal, ...more };
}

/** Waits for something to be seen, or for the work that should bring it about to end without it. */
export async function untilEither(work: Promise<unknown>, seen: () => boolean): Promise<void> {
  let over = false;
  const end = () => {
    over = true;
  };
  work.then(end, end);
  while (!over && !seen()) await wait(1);
}
