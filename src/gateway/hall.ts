import type { AgentLimits, Container, Fetch, Model, Tool } from "../agent/index.js";
import type { Channel } from "../channel/channel.js";
import type { Chat } from "../message/index.js";
import type { Store } from "../store/store.js";
import type { Arrivals } from "./arrivals.js";
import type { HostMessageBroadcaster, UserMessageHandler } from "./broadcast.js";
import type { CallSlots } from "./callSlots.js";
import type { Clock } from "./clock.js";
import type { Live } from "./live.js";
import type { MediaWork } from "./mediaWork.js";
import type { GatherNotices } from "./notices.js";

/** A model by its name, or what to type to have it. */
export type FoundModel = { ok: true; model: Model } | { ok: false; why: string };

/** One line of what happened, for operators. Never a key, never a message's words. */
export type Log = (
  level: "info" | "warn" | "error",
  event: string,
  ids: Record<string, string | number>,
) => void;

export type ShellOutput =
  | { ok: true; output: string; exit_code: number | null; note: string }
  | { ok: false; why: string };
export type Shell = (command: string) => Promise<ShellOutput>;

/** What every part of the gateway works with. */
export type Hall = {
  store: Store;
  clock: Clock;
  channels: ReadonlyMap<string, Channel>;
  chats: ChatLookup;
  live: Live;
  hostMessages: HostMessageBroadcaster;
  userMessages: UserMessageHandler;
  resolveModel(name: string): Promise<FoundModel>;
  /** In place of the network, for models behind HTTP. */
  fetch: Fetch | undefined;
  /** A number from 0 to 1, by chance. */
  chance: () => number;
  defaultModel: string;
  assistantName: string;
  aliases: readonly string[];
  tools: readonly Tool[];
  /** Agents outside this process, by name: chats choose one as the model `container/<name>`. */
  containers: ReadonlyMap<string, Container>;
  notices: GatherNotices;
  media: MediaWork;
  log: Log;
  /** Who holds our leases. */
  holder: string;
  /** What the whole server may spend on a day (UTC). */
  budget: { usd: number | null; tokens: number | null };
  /** Model calls at once. */
  slots: CallSlots;
  /** Who watches which lane. */
  arrivals: Arrivals;
  /** Runs a shell command for a person who may; says why not where the operator has not made that possible. */
  shell: Shell;
  limits: GatewayLimits;
};

export type GatewayLimits = {
  leaseMs: number;
  /** Turns at once. Many: most of a turn is waiting, and one that hangs must not hold up another chat. */
  turns: number;
  /** Calls of one model at once. */
  calls: number;
  /** Lanes of deliveries at once. */
  deliveries: number;
  steps: number;
  attempts: number;
  /** Milliseconds a turn may take, and one of its tools. */
  turnMs: number;
  toolMs: number;
  /** US dollars a turn may cost; null: no limit. */
  turnUsd: number | null;
  /** Entries of a path that are read at most. */
  window: number;
  /** How long work is put off at first that seems to take the server down. */
  crashWaitMs: number;
  /** How often streamed text is saved. */
  saveEveryMs: number;
};

/** How far one turn may go. */
export function agentLimits(limits: GatewayLimits): AgentLimits {
  const { steps, attempts, turnMs, toolMs, turnUsd } = limits;
  return { steps, attempts, timeMs: turnMs, toolMs, usd: turnUsd };
}

/** Chats by jid and by address, remembered while nothing changes. */
export type ChatLookup = {
  byJid(jid: string): Promise<Chat | null>;
  byAddress(address: string): Promise<Chat | null>;
  forget(): void;
};

const REMEMBERED = 1000;

export function chatLookup(store: Store): ChatLookup {
  const byJid = new Map<string, Promise<Chat | null>>();
  const byAddress = new Map<string, Promise<Chat | null>>();
  return {
    byJid: (jid) => remember(byJid, jid, () => store.read.chat(jid)),
    byAddress: (address) => remember(byAddress, address, () => store.read.chatOfAddress(address)),
    forget: () => {
      byJid.clear();
      byAddress.clear();
    },
  };
}

/** Only what was found is remembered: a stranger's addresses must not fill the memory. */
function remember(known: Map<string, Promise<Chat | null>>, key: string, read: () => Promise<Chat | null>) {
  const cached = known.get(key);
  if (cached) return cached;
  if (known.size >= REMEMBERED) known.clear();
  const reading = read();
  known.set(key, reading);
  reading.then(
    (chat) => chat === null && known.get(key) === reading && known.delete(key),
    () => known.get(key) === reading && known.delete(key),
  );
  return reading;
}
