import { clock, connectMcp, type McpTools } from "../../agent/index.js";
import { type Log, systemClock } from "../../gateway/index.js";
import { isRecord } from "../../message/json.js";
import { type Env, readJsonFile } from "./settings.js";

/** How long a start waits for servers; one that takes longer is told of and left out. */
const START_MS = 15_000;

/**
 * The built-in tools, with those of the MCP servers that the file in LONGHAND_MCP names. A file that cannot be read
 * is a wrong setting; a server that cannot be used is only a problem, told in words.
 */
export async function mcpTools(env: Env, log: Log): Promise<McpTools> {
  const path = env.LONGHAND_MCP?.trim();
  const nothing = async () => {};
  if (!path) return { tools: [clock], problems: [], refresh: nothing, close: nothing };
  const { config, problems } = withVariables(readJsonFile("LONGHAND_MCP", path), env);
  const mcp = await connectMcp(config, {
    now: () => systemClock.now(),
    log: (server, line) => log("info", "mcp.said", { server, line }),
    startMs: START_MS,
    besides: [clock],
  });
  for (const why of [...problems, ...mcp.problems]) log("warn", "mcp.problem", { why });
  return { ...mcp, problems: [...problems, ...mcp.problems] };
}

/** `${NAME}` is read from the environment, so that the file itself need hold no secret. */
function withVariables(given: unknown, env: Env): { config: unknown; problems: string[] } {
  const problems: string[] = [];
  const servers: [string, unknown][] = [];
  const listed = isRecord(given) && isRecord(given.mcpServers) ? given.mcpServers : null;
  for (const [name, server] of Object.entries(listed ?? {})) {
    const missing = new Set<string>();
    servers.push([name, filledIn(server, env, missing)]);
    if (missing.size === 0) continue;
    servers.pop();
    problems.push(`mcpServers.${name}: set ${[...missing].join(", ")} in the environment, which it names`);
  }
  const config = listed ? { mcpServers: Object.fromEntries(servers) } : given;
  return { config, problems };
}

const VARIABLE = /\$\{(\w+)(?::-([^}]*))?\}/g;

function filledIn(value: unknown, env: Env, missing: Set<string>): unknown {
  if (typeof value === "string") {
    return value.replace(VARIABLE, (_, name: string, otherwise: string | undefined) => {
      const found = env[name] || otherwise;
      if (found === undefined) missing.add(name);
      return found ?? "";
    });
  }
  if (Array.isArray(value)) return value.map((item) => filledIn(item, env, missing));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filledIn(item, env, missing)]));
}
