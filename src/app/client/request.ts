import { problemOf } from "./problem.js";

export type ClientOptions = {
  /** Where the server is, such as `http://127.0.0.1:7483`. Empty in a page the server itself gave out. */
  baseUrl?: string;
  token?: string | null;
  /** Another `fetch`, for tests and proxies. */
  fetch?: typeof globalThis.fetch;
};

/** Values of a query; what is undefined or null is not asked. */
export type Query = Record<string, string | number | boolean | null | undefined>;

type Ask = { query?: Query; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal | null };

/** How every call of the client reaches the server. */
export type Requester = {
  /** The answer, once it is known to be ok; otherwise throws `ApiProblem`. */
  open(method: string, path: string, ask?: Ask): Promise<Response>;
  json<T>(method: string, path: string, ask?: Ask): Promise<T>;
  nothing(method: string, path: string, ask?: Ask): Promise<void>;
};

export function createRequester(options: ClientOptions): Requester {
  const base = (options.baseUrl ?? "").replace(/\/+$/, "");
  const send = options.fetch ?? globalThis.fetch.bind(globalThis);

  const open: Requester["open"] = async (method, path, ask = {}) => {
    const headers = new Headers(ask.headers);
    if (options.token) headers.set("authorization", `Bearer ${options.token}`);
    if (ask.body !== undefined) headers.set("content-type", "application/json");
    const response = await send(`${base}${path}${spellQuery(ask.query)}`, {
      method,
      headers,
      // A token in a header is enough; a cookie of the same host is nobody's business here.
      credentials: "omit",
      cache: "no-store",
      signal: ask.signal ?? null,
      ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
    });
    if (!response.ok) throw await problemOf(response);
    return response;
  };

  return {
    open,
    json: async <T>(method: string, path: string, ask?: Ask) =>
      (await (await open(method, path, ask)).json()) as T,
    nothing: async (method, path, ask) => {
      await (await open(method, path, ask)).arrayBuffer();
    },
  };
}

/** One segment of a path. Ids are opaque: whatever stands in them must arrive as it is. */
export function segment(id: string): string {
  // URL parsers fold these two away even when they are percent-encoded, and the call would reach another path.
  if (id === "" || id === "." || id === "..") throw new RangeError(`${JSON.stringify(id)} cannot be an id`);
  return encodeURIComponent(id);
}

function spellQuery(query: Query | undefined): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  if (given.length === 0) return "";
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
