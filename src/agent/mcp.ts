import { type McpServer, readMcpConfig } from "./mcpConfig.js";
import { McpConnection, type McpSettings } from "./mcpConnection.js";
import { type ListedTool, toolName } from "./mcpListing.js";
import type { Tool } from "./tool.js";

export type { McpAddress, McpCommand, McpConfig, McpServer } from "./mcpConfig.js";

export type McpOptions = {
  /** Milliseconds since 1970, for the pauses between attempts to reach a server. */
  now: () => number;
  /** What servers say on standard error, and what happens to them: a line at a time, bounded. */
  log?: (server: string, line: string) => void;
  /** Milliseconds a server may take to start and to list its tools; 30,000 when not given. */
  startMs?: number;
  /** Tools of one's own, to stand first in the list; no server's tool takes one of their names. */
  besides?: readonly Tool[];
};

export type McpTools = {
  /** One list for good, changed in place when a server's tools change: hand on the list itself, not a copy. */
  tools: Tool[];
  /** In words: what cannot be used, and why. Changes along with the tools. */
  problems: string[];
  /** Asks every server again, also those that could not be reached before. */
  refresh(): Promise<void>;
  close(): Promise<void>;
};

const START_MS = 30_000;
const NO_SDK = "MCP servers need a package that is not installed: npm install @modelcontextprotocol/sdk";

/**
 * Connects to MCP servers and gives their tools. A server that cannot be reached is a problem told in words, and
 * stops neither us nor the others; nor is a config that is not an `McpConfig`. Needs the package `@modelcontextprotocol/sdk`.
 */
export async function connectMcp(config: unknown, options: McpOptions): Promise<McpTools> {
  const { now, log = () => {}, startMs = START_MS, besides = [] } = options;
  const { servers, problems: wrong } = readMcpConfig(config);
  if (servers.size > 0 && !(await hasSdk())) {
    const nothing = async () => {};
    return { tools: [...besides], problems: [...wrong, NO_SDK], refresh: nothing, close: nothing };
  }
  const tools: Tool[] = [...besides];
  const problems: string[] = [];
  const show = (): void => {
    tools.splice(0, tools.length, ...besides, ...namedTools(sources, besides));
    problems.splice(0, problems.length, ...wrong, ...sources.flatMap((source) => source.problems));
  };
  const sources = [...servers].map(([name, server]) => new Source(name, server, { now, log, startMs }, show));
  const refresh = async () => {
    await Promise.all(sources.map((source) => source.refresh()));
  };
  await refresh();
  show();
  const close = async () => {
    await Promise.all(sources.map((source) => source.connection.close()));
  };
  return { tools, problems, refresh, close };
}

/** One server with what it last told of its tools. */
class Source {
  readonly connection: McpConnection;
  listed: ListedTool[] = [];
  problems: string[] = [];
  private refreshing: Promise<void> | null = null;
  private again = false;

  constructor(
    readonly name: string,
    readonly server: McpServer,
    settings: McpSettings,
    private readonly show: () => void,
  ) {
    this.connection = new McpConnection(name, server, settings, () => void this.refresh());
  }

  /** However often it is asked for, one list is on its way, and at most one more follows. */
  refresh(): Promise<void> {
    this.again = this.refreshing !== null;
    this.refreshing ??= this.read().finally(() => {
      this.refreshing = null;
      this.show();
      if (this.again) void this.refresh();
    });
    return this.refreshing;
  }

  /** What a server told before stays when it cannot be asked now: its tools may work again by the time they are used. */
  private async read(): Promise<void> {
    try {
      const { tools, problems } = await this.connection.list();
      this.listed = tools;
      this.problems = problems.map((problem) => `The MCP server "${this.name}": ${problem}`);
    } catch (error) {
      this.problems = [this.connection.words(error)];
    }
  }
}

function namedTools(sources: readonly Source[], besides: readonly Tool[]): Tool[] {
  const taken = new Set(besides.map(({ name }) => name));
  return sources.flatMap(({ name: server, server: { timeoutMs }, listed, connection }) =>
    listed.map(({ name, ...about }): Tool => {
      const unique = toolName(server, name, taken);
      taken.add(unique);
      return {
        ...about,
        name: unique,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        run: (args, context) => connection.call(name, args, context),
      };
    }),
  );
}

async function hasSdk(): Promise<boolean> {
  try {
    await import("@modelcontextprotocol/sdk/client/index.js");
    return true;
  } catch {
    return false;
  }
}
