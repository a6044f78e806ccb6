import { createHash } from "node:crypto";
import { z } from "zod";
import { clip, replaceBadCharacters } from "../message/index.js";
import { isRecord, jsonProblem } from "../message/json.js";

/** A tool as its server tells of it, as far as we can use it. */
export type ListedTool = {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  repeatable: boolean;
};

export type Listing = { tools: ListedTool[]; problems: string[] };

/** One page of a list. Each tool is read by itself, so that a broken one does not hide its neighbours. */
export const ListPage = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().nullish(),
});

const MAX_TOOLS = 500;
const MAX_PAGES = 100;
const MAX_DESCRIPTION = 8000;
const MAX_NAME = 64;
const SCHEMA_LIMITS = { depth: 64, bytes: 64 * 1024, wellFormed: true };

const listed = z.object({
  name: z.string().min(1).max(1000),
  title: z.string().nullish(),
  description: z.string().nullish(),
  inputSchema: z.record(z.string(), z.unknown()),
  annotations: z.object({ readOnlyHint: z.unknown(), idempotentHint: z.unknown() }).partial().nullish(),
  execution: z.object({ taskSupport: z.unknown() }).partial().nullish(),
});

type AskPage = (cursor: string | undefined) => Promise<z.infer<typeof ListPage>>;

/** All tools of a server, page by page; a list without end is cut, and that is said. */
export async function readListing(askPage: AskPage): Promise<Listing> {
  const tools: ListedTool[] = [];
  const problems: string[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const { tools: found, nextCursor } = await askPage(cursor);
    for (const item of found) {
      const read = readTool(item);
      if (typeof read === "string") problems.push(read);
      else if (tools.length < MAX_TOOLS) tools.push(read);
    }
    pages++;
    cursor = nextCursor && nextCursor !== cursor ? nextCursor : undefined;
  } while (cursor && pages < MAX_PAGES && tools.length < MAX_TOOLS);
  if (cursor && pages >= MAX_PAGES)
    problems.unshift(`its list of tools has no end; only ${MAX_PAGES} pages of it are used`);
  if (tools.length >= MAX_TOOLS) problems.push(`only its first ${MAX_TOOLS} tools are used`);
  return { tools, problems: problems.slice(0, 20) };
}

/** The tool, or why it cannot be used. */
function readTool(item: unknown): ListedTool | string {
  const parsed = listed.safeParse(item);
  const named = JSON.stringify(clip(String(isRecord(item) ? item.name : item), 64));
  if (!parsed.success) return `its tool ${named} is left out: it is not described as MCP wants`;
  const { name, title, description, inputSchema, annotations, execution } = parsed.data;
  const problem = jsonProblem(inputSchema, SCHEMA_LIMITS);
  if (problem) return `its tool ${named} is left out: its inputSchema is ${problem.reason}`;
  if (inputSchema.type !== "object")
    return `its tool ${named} is left out: its inputSchema is not of an object`;
  if (execution?.taskSupport === "required")
    return `its tool ${named} is left out: it runs only as an MCP task`;
  return {
    name,
    description: clip(replaceBadCharacters(description || title || name), MAX_DESCRIPTION),
    parameters: inputSchema,
    repeatable: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
  };
}

/** `server__tool`, in the letters every API takes, and unlike any name that is taken. */
export function toolName(server: string, tool: string, taken: ReadonlySet<string>): string {
  const safe = `${server}__${tool}`.replace(/[^a-zA-Z0-9_-]/g, "_");
  if (safe.length <= MAX_NAME && !taken.has(safe)) return safe;
  for (let salt = 0; ; salt++) {
    const mark = createHash("sha256")
      .update(JSON.stringify([server, tool, salt]))
      .digest("hex")
      .slice(0, 8);
    const name = `${safe.slice(0, MAX_NAME - mark.length - 1)}_${mark}`;
    if (!taken.has(name)) return name;
  }
}
