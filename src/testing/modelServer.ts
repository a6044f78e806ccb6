import type { IncomingHttpHeaders } from "node:http";
import {
  type ReceivedRequest,
  type ScriptedServer,
  type ServerScript,
  startScriptedServer,
} from "./scriptedServer.js";

/** What a model's server can be asked to do with a request it has no reason to refuse. */
export type Behaviour =
  /** Answer with a text, in several events. */
  | { do: "say"; text: string }
  /** Call a tool. */
  | { do: "call"; name: string; args?: Record<string, unknown>; id?: string }
  /** Say so much and fall silent; without a text not even the headers come. */
  | { do: "stall"; text?: string }
  /** Say so much and break the connection. */
  | { do: "cut"; text: string }
  /** Refuse, as too many requests; with when to try again, in seconds. */
  | { do: "rate-limit"; retryAfterS?: number }
  /** Refuse, as more than the model's window holds. */
  | { do: "overflow" }
  /** Refuse, as a server that has too much to do. */
  | { do: "overload" }
  /** Send these very bytes. */
  | { do: "send"; script: ServerScript };

/** What every server can be strict about besides its API's rules. */
export type ServerLimits = {
  /** The only key it takes; any, or none, when not given. */
  apiKey?: string;
  /** How many tokens fit, four bytes each. */
  window?: number;
  /** The models it lists to whoever asks which there are; nobody is told when not given. */
  models?: readonly string[];
};

/** A model's server for tests: it keeps every byte it is sent, and refuses what its API would refuse. */
export type ModelServer = ScriptedServer & {
  /** What a model is given to find it: `model({ api, id, baseUrl })`. */
  baseUrl: string;
  /** What to do with the next requests that it does not refuse, one each. Then it says hello again. */
  next(...behaviours: Behaviour[]): void;
};

/** How one vendor spells all that. */
export type Dialect = {
  /** What follows the origin in a base URL. */
  basePath: string;
  serves(url: string): boolean;
  keyIn(headers: IncomingHttpHeaders): unknown;
  /** Of an answer that streams. */
  headers?: Record<string, string>;
  /** A stream up to the end of its text, and what follows then. */
  begin(pieces: readonly string[]): string | Uint8Array;
  end(text: string): string | Uint8Array;
  call(call: { id: string; name: string; args: Record<string, unknown> }): string | Uint8Array;
  /** Where it lists its models, and how; for those that do. */
  listing?: { path: string; body(ids: readonly string[]): unknown };
  refusals: {
    notFound(url: string): ServerScript;
    wrongKey(): ServerScript;
    rateLimit(retryAfterS: number): ServerScript;
    overflow(tokens: number, window: number): ServerScript;
    overload(): ServerScript;
    invalid(words: string): ServerScript;
  };
};

const HELLO: Behaviour = { do: "say", text: "Hello" };
const USUAL_WINDOW = 8192;

/** Starts one on a free port of this machine. `judge` says what is wrong with a request, or how to refuse it. */
export async function startModelServer(
  dialect: Dialect,
  { apiKey, window, models }: ServerLimits,
  judge: (request: ReceivedRequest) => string[] | ServerScript,
): Promise<ModelServer> {
  const { refusals } = dialect;
  const listing = models && dialect.listing;
  const aside = (url: string): ServerScript | null =>
    listing && url.split("?")[0] === listing.path ? jsonAnswer(200, listing.body(models)) : null;
  const refusal = (request: ReceivedRequest): ServerScript | null => {
    const { url, headers, body } = request;
    if (!dialect.serves(url)) return refusals.notFound(url);
    if (apiKey !== undefined && dialect.keyIn(headers) !== apiKey) return refusals.wrongKey();
    const tokens = Math.ceil(body.length / 4);
    if (window !== undefined && tokens > window) return refusals.overflow(tokens, window);
    const broken = judge(request);
    if (!Array.isArray(broken)) return broken;
    return broken.length > 0 ? refusals.invalid(broken.join("; ")) : null;
  };
  const server = await startScriptedServer(scriptOf(HELLO, dialect), refusal, aside);
  return Object.assign(server, {
    baseUrl: `${server.origin}${dialect.basePath}`,
    next(...behaviours: Behaviour[]) {
      server.upcoming.push(...behaviours.map((behaviour) => scriptOf(behaviour, dialect)));
    },
  });
}

function scriptOf(behaviour: Behaviour, dialect: Dialect): ServerScript {
  const { refusals } = dialect;
  const streaming = (...bytes: (string | Uint8Array)[]): ServerScript => {
    const body = Buffer.concat(bytes.map((some) => Buffer.from(some)));
    return dialect.headers ? { body, headers: dialect.headers } : { body };
  };
  const begun = (text: string): ServerScript => streaming(dialect.begin(inPieces(text)));
  switch (behaviour.do) {
    case "say":
      return streaming(dialect.begin(inPieces(behaviour.text)), dialect.end(behaviour.text));
    case "call": {
      const { name, args = {}, id = "call_1" } = behaviour;
      return streaming(dialect.call({ id, name, args }));
    }
    case "stall":
      if (behaviour.text === undefined) return { body: "", mute: true };
      return { ...begun(behaviour.text), ending: "silence" };
    case "cut":
      return { ...begun(behaviour.text), ending: "reset" };
    case "rate-limit":
      return refusals.rateLimit(behaviour.retryAfterS ?? 1);
    case "overflow":
      return refusals.overflow(USUAL_WINDOW + 1, USUAL_WINDOW);
    case "overload":
      return refusals.overload();
    case "send":
      return behaviour.script;
  }
}

/** A few characters each, and no character in two. */
export function inPieces(text: string): string[] {
  return text.match(/.{1,7}/gsu) ?? [];
}

/** A status and a body of JSON. */
export function jsonAnswer(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): ServerScript {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** The key in an `Authorization` header. */
export function bearerIn({ authorization }: IncomingHttpHeaders): string | undefined {
  return authorization?.replace(/^Bearer /, "");
}
