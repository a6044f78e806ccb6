import { z } from "zod";
import { errorsOf } from "../message/index.js";
import { isRecord } from "../message/json.js";

/** A server this machine runs: a command that speaks MCP on its standard input and output. */
export type McpCommand = {
  command: string;
  args?: string[] | undefined;
  /** All it is given of our environment, beside the few harmless variables every program needs (PATH, HOME, …). */
  env?: Record<string, string> | undefined;
  cwd?: string | undefined;
  disabled?: boolean | undefined;
  /** Milliseconds one of its tools may take. */
  timeoutMs?: number | undefined;
};

/** A server that runs elsewhere. `type: "sse"` for one that speaks only the older way. */
export type McpAddress = {
  url: string;
  headers?: Record<string, string> | undefined;
  type?: "http" | "streamable-http" | "streamableHttp" | "sse" | undefined;
  disabled?: boolean | undefined;
  timeoutMs?: number | undefined;
};

export type McpServer = McpCommand | McpAddress;

/** The shape other programs' files have too. */
export type McpConfig = { mcpServers: Record<string, McpServer> };

const both = { disabled: z.boolean().optional(), timeoutMs: z.number().int().min(1).optional() };
const texts = z.record(z.string(), z.string());
const command = z.object({
  ...both,
  type: z.literal("stdio").optional(),
  command: z.string().min(1),
  args: z.array(z.string()).optional(),
  env: texts.optional(),
  cwd: z.string().min(1).optional(),
});
const address = z.object({
  ...both,
  type: z.enum(["http", "streamable-http", "streamableHttp", "sse"]).optional(),
  url: z.url({ protocol: /^https?$/ }),
  headers: texts.optional(),
});

/** The servers that can be tried, and what is wrong with the others. Never throws. */
export function readMcpConfig(given: unknown): { servers: Map<string, McpServer>; problems: string[] } {
  const servers = new Map<string, McpServer>();
  const listed = isRecord(given) ? given.mcpServers : undefined;
  if (!isRecord(listed)) {
    const example = '{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "some-server"] } } }';
    return { servers, problems: [`mcpServers: expected an object of servers by name, such as ${example}`] };
  }
  const problems: string[] = [];
  for (const [name, server] of Object.entries(listed)) {
    const path = `mcpServers.${name}`;
    const schema = isRecord(server) && server.url !== undefined ? address : command;
    const parsed = schema.safeParse(server);
    if (!parsed.success) {
      problems.push(...errorsOf(parsed.error, path, server).map(({ path, reason }) => `${path}: ${reason}`));
      continue;
    }
    const unknown = Object.keys(isRecord(server) ? server : {}).filter((key) => !(key in schema.shape));
    problems.push(...unknown.map((key) => `${path}.${key}: no such field; it is not heeded`));
    if (!parsed.data.disabled) servers.set(name, parsed.data);
  }
  return { servers, problems };
}
