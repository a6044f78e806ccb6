import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { z } from "zod";
import { clip } from "../message/index.js";
import type { McpServer } from "./mcpConfig.js";
import { outputOfMcp } from "./mcpContent.js";
import { type Listing, ListPage, readListing } from "./mcpListing.js";
import { olderTransportTo, transportTo } from "./mcpTransport.js";
import type { ToolContext, ToolOutput } from "./tool.js";
import { reasonOf } from "./toolResult.js";

export type McpSettings = {
  now: () => number;
  /** One line about a server, or from it. */
  log: (server: string, line: string) => void;
  /** Milliseconds a server may take to start and to list its tools. */
  startMs: number;
};

/** How we introduce ourselves. */
const SELF = { name: "longhand", version: "1" };
/** The agent limits a tool's time; the SDK's own, shorter limit must not come first. */
const NO_LIMIT_MS = 2 ** 31 - 1;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** After so much that is not MCP, it never will be. */
const MAX_GARBAGE = 200;
const CALL_ANSWER = z.looseObject({});

/** One server: connected when it is needed, and again when it died. */
export class McpConnection {
  private client: Client | null = null;
  private connecting: Promise<Client> | null = null;
  private failures = 0;
  private pauseUntil = 0;
  private lastWhy = "";
  private closed = false;
  /** A server that comes back may have other tools. */
  private wasOpen = false;
  private readonly secrets: string[];

  constructor(
    readonly name: string,
    private readonly server: McpServer,
    private readonly settings: McpSettings,
    private readonly changed: () => void,
  ) {
    const given = "command" in server ? server.env : server.headers;
    const inUrl = "command" in server ? [] : [...new URL(server.url).searchParams.values()];
    this.secrets = [...Object.values(given ?? {}), ...inUrl].filter((value) => value.length >= 6);
  }

  /** All its tools. Throws in words when it cannot be asked. */
  async list(): Promise<Listing> {
    const client = await this.open();
    const options = { timeout: this.settings.startMs };
    return readListing((cursor) =>
      client.request({ method: "tools/list", params: cursor ? { cursor } : {} }, ListPage, options),
    );
  }

  /** One call. Never made twice, except when the server refused it unheard because it forgot our session. */
  async call(tool: string, args: Record<string, unknown>, { signal }: ToolContext): Promise<ToolOutput> {
    for (let retried = false; ; retried = true) {
      const client = await this.open();
      const request = { method: "tools/call", params: { name: tool, arguments: args } } as const;
      try {
        const answer = await client.request(request, CALL_ANSWER, { signal, timeout: NO_LIMIT_MS });
        this.failures = 0;
        return outputOfMcp(answer);
      } catch (error) {
        if (signal.aborted) this.probe(client);
        const refused = await isForgotten(client, error);
        if (refused || isBroken(error)) this.drop(client);
        if (!refused || retried) throw new Error(this.callFailed(error));
      }
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    const client = this.client ?? (await this.connecting?.catch(() => null));
    this.client = null;
    await client?.close().catch(() => {});
  }

  /** Words for people and models, without what we were trusted with. */
  words(error: unknown): string {
    let text = reasonOf(error) || "no reason given";
    for (const secret of this.secrets) text = text.replaceAll(secret, "[secret]");
    return clip(text, 500);
  }

  private async open(): Promise<Client> {
    if (this.client) return this.client;
    if (this.closed) throw new Error("the MCP servers are closed");
    const wait = this.pauseUntil - this.settings.now();
    if (!this.connecting && wait > 0) {
      const seconds = Math.ceil(wait / 1000);
      throw new Error(
        `The MCP server "${this.name}" is down (${this.lastWhy}); it is tried again in ${seconds} s.`,
      );
    }
    this.connecting ??= this.connect().finally(() => {
      this.connecting = null;
    });
    return this.connecting;
  }

  private async connect(): Promise<Client> {
    try {
      const client = await this.connectOver(await this.transport());
      if (this.closed) {
        await client.close();
        throw new Error("the MCP servers are closed");
      }
      this.client = client;
      if (this.wasOpen) this.changed();
      this.wasOpen = true;
      client.onclose = () => this.ended(client, "it ended");
      return client;
    } catch (error) {
      this.failed(this.words(error));
      throw new Error(`The MCP server "${this.name}" cannot be used: ${this.lastWhy}`);
    }
  }

  private transport(): Promise<Transport> {
    return transportTo(this.server, (line) => this.log(line), this.settings.now);
  }

  private async connectOver(transport: Transport): Promise<Client> {
    try {
      return await this.introduce(transport);
    } catch (error) {
      const older = await olderTransportTo(this.server, error);
      if (!older) throw error;
      return this.introduce(older);
    }
  }

  private async introduce(transport: Transport): Promise<Client> {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const client = new Client(SELF, {
      listChanged: { tools: { autoRefresh: false, onChanged: () => this.changed() } },
    });
    let garbage = 0;
    client.onerror = (error) => {
      garbage++;
      if (garbage <= 3) this.log(this.words(error));
      if (garbage === MAX_GARBAGE) {
        this.log("it does not speak MCP; the connection is closed");
        client.close().catch(() => {});
      }
    };
    const tooSlow = AbortSignal.timeout(this.settings.startMs);
    try {
      await client.connect(transport, { timeout: this.settings.startMs, signal: tooSlow });
      return client;
    } catch (error) {
      await transport.close().catch(() => {});
      throw error;
    }
  }

  /** The next use connects anew; a server that keeps ending is given longer and longer pauses. */
  private ended(client: Client, why: string): void {
    if (this.client !== client) return;
    this.client = null;
    if (this.closed) return;
    this.failed(why);
    this.log(why);
  }

  private failed(why: string): void {
    this.failures++;
    this.lastWhy = why;
    const pause = this.failures === 1 ? 0 : FIRST_PAUSE_MS * 2 ** (this.failures - 2);
    this.pauseUntil = this.settings.now() + Math.min(LONGEST_PAUSE_MS, pause);
  }

  private drop(client: Client): void {
    this.ended(client, "the connection was lost");
    // Not waited for: it may be the very thing that hangs.
    client.close().catch(() => {});
  }

  /** A tool that did not answer in time may be slow, or its server may hang: then the next use starts it anew. */
  private probe(client: Client): void {
    client.ping({ timeout: this.settings.startMs }).catch(() => this.drop(client));
  }

  private callFailed(error: unknown): string {
    if (!isBroken(error)) return this.words(error);
    return `The MCP server "${this.name}" broke off (${this.words(error)}). The tool may or may not have taken effect; check before trying again.`;
  }

  private log(line: string): void {
    this.settings.log(this.name, this.words(line));
  }
}

/**
 * The server does not know our session any more: it was started anew, and has not run the call. Only HTTP says that:
 * the code of any other error is the server's own choice, and may come from a tool that has done its work.
 */
async function isForgotten({ transport }: Client, error: unknown): Promise<boolean> {
  if (transport?.sessionId === undefined) return false;
  const { StreamableHTTPError } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  return error instanceof StreamableHTTPError && (error.code === 404 || error.code === 400);
}

/** Connection closed (-32000 by the SDK), or a failed fetch: nobody knows how far the call came. */
function isBroken(error: unknown): boolean {
  if (error instanceof TypeError) return true;
  return error instanceof Error && "code" in error && error.code === -32000;
}
