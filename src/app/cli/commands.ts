import type { Command, Typed } from "./command.js";
import type { Connection } from "./connect.js";
import { CommandFailed, columns, type Output } from "./output.js";
import { PEOPLE_HELP, people } from "./people.js";
import { plain } from "./plain.js";

const chat = { type: "string", value: "jid", help: "which chat (home)" } as const;
const chatOf = (typed: Typed): string => typed.text("chat") ?? "home";

function countOf(typed: Typed): number {
  const count = Number(typed.text("count") ?? 50);
  if (!Number.isInteger(count) || count < 1 || count > 500) {
    throw new CommandFailed(2, "--count takes a number from 1 to 500.");
  }
  return count;
}

/** A command that talks to the running server. */
function asking(
  definition: Omit<Command, "run">,
  ask: (connection: Connection, typed: Typed, out: Output) => Promise<void>,
): Command {
  const run: Command["run"] = async (typed, output) => {
    const { connect, explained } = await import("./connect.js");
    const connection = connect(process.env);
    await ask(connection, typed, output(typed.has("json"))).catch((error: unknown) => {
      throw explained(
        error,
        connection,
        "chat" in definition.options ? chatOf(typed) : (typed.words[0] ?? ""),
      );
    });
  };
  return { ...definition, run };
}

export const COMMANDS: readonly Command[] = [
  {
    name: "start",
    takes: "",
    summary: "Start the server",
    options: {},
    run: async () => (await import("./start.js")).start(process.env),
  },
  {
    name: "migrate",
    takes: "",
    summary: "Move everything from SQLite to an empty Postgres database (the server must be stopped)",
    options: {
      from: { type: "string", value: "folder", help: "where the data is (LONGHAND_DATA, or ./data)" },
      to: { type: "string", value: "url", help: "the database (DATABASE_URL)" },
    },
    run: async (typed, out) =>
      (await import("./migrate.js")).migrate(
        typed.text("from") ?? (process.env.LONGHAND_DATA || "data"),
        typed.text("to") ?? process.env.DATABASE_URL,
        out(typed.has("json")),
      ),
  },
  {
    name: "agent",
    takes: "",
    summary: "The built-in agent as a container: a turn on standard input, its events on standard output",
    options: {},
    run: async () => (await import("./agent.js")).agent(process.env, process.stdin, process.stdout),
  },
  asking(
    {
      name: "send",
      takes: "[words…]",
      summary:
        "Say something and read the answer (words may come through a pipe; put -- before words that begin with -)",
      options: {
        chat,
        as: { type: "string", value: "name", help: "your name" },
        "no-wait": { type: "boolean", help: "do not wait for the answer" },
      },
    },
    async (connection, typed, out) => {
      const { send } = await import("./conversation.js");
      await send(connection, chatOf(typed), typed.words, out, {
        as: typed.text("as"),
        wait: !typed.has("no-wait"),
      });
    },
  ),
  asking(
    {
      name: "log",
      takes: "",
      summary: "Read the conversation",
      options: {
        follow: { type: "boolean", short: "f", help: "go on as it is spoken" },
        ids: { type: "boolean", help: "with each message's number and id" },
        count: { type: "string", short: "n", value: "count", help: "how many messages (50)" },
        chat,
      },
    },
    async (connection, typed, out) => {
      const { log } = await import("./conversation.js");
      const count = countOf(typed);
      await log(connection, chatOf(typed), out, {
        count,
        follow: typed.has("follow"),
        ids: typed.has("ids"),
      });
    },
  ),
  asking(
    {
      name: "call",
      takes: "<id>",
      summary: "What the model saw in one call",
      options: { raw: { type: "boolean", help: "the exact bytes" } },
    },
    async (connection, typed, out) =>
      (await import("./inspect.js")).call(connection, typed.words[0] ?? "", out, { raw: typed.has("raw") }),
  ),
  asking(
    {
      name: "diff",
      takes: "<call> <call>",
      summary: "What changed between two calls: where they part, why, and what that cost in cache",
      options: {},
    },
    async (connection, typed, out) =>
      (await import("./receipts.js")).diff(connection, typed.words[0] ?? "", typed.words[1] ?? "", out),
  ),
  asking(
    {
      name: "replay",
      takes: "<call>",
      summary:
        "Give a call's context to the same or another model, and see both answers; the chat stays as it is",
      options: {
        model: { type: "string", value: "provider/model", help: "another model (longhand models)" },
      },
    },
    async (connection, typed, out) =>
      (await import("./receipts.js")).replay(connection, typed.words[0] ?? "", out, {
        model: typed.text("model"),
      }),
  ),
  asking(
    { name: "calls", takes: "", summary: "The calls of a chat", options: { chat } },
    async (connection, typed, out) => (await import("./inspect.js")).calls(connection, chatOf(typed), out),
  ),
  asking(
    { name: "context", takes: "", summary: "What the model would see now", options: { chat } },
    async (connection, typed, out) => (await import("./inspect.js")).context(connection, chatOf(typed), out),
  ),
  asking(
    {
      name: "tree",
      takes: "",
      summary:
        "The newest entries of the tree: what the assistant reads now (│, the head ●), and other branches",
      options: {
        count: { type: "string", short: "n", value: "count", help: "how many entries (50)" },
        chat,
      },
    },
    async (connection, typed, out) =>
      (await import("./tree.js")).tree(connection, chatOf(typed), out, { count: countOf(typed) }),
  ),
  asking(
    {
      name: "fork",
      takes: "<message>",
      summary: "Go on from a message, by its id or its number (log --ids), or from an entry of the tree",
      options: {
        summarise: { type: "boolean", help: "begin with a summary of the branch that is left" },
        chat,
      },
    },
    async (connection, typed, out) =>
      (await import("./tree.js")).fork(connection, chatOf(typed), typed.words[0] ?? "", out, {
        summarise: typed.has("summarise"),
      }),
  ),
  asking(
    {
      name: "head",
      takes: "<entry>",
      summary: "Go on from any entry of the tree, also to undo a compaction; `fresh` starts a new branch",
      options: { chat },
    },
    async (connection, typed, out) =>
      (await import("./tree.js")).head(connection, chatOf(typed), typed.words[0] ?? "", out),
  ),
  asking(
    {
      name: "label",
      takes: "<entry> <words…>",
      summary: "Give an entry of the tree a name; no model reads it",
      options: { chat },
    },
    async (connection, typed, out) =>
      (await import("./tree.js")).label(connection, chatOf(typed), typed.words, out),
  ),
  asking(
    {
      name: "compact",
      takes: "",
      summary: "Summarise what is old in a chat, so that its calls become smaller; nothing is deleted",
      options: { chat },
    },
    async (connection, typed, out) => (await import("./tree.js")).compact(connection, chatOf(typed), out),
  ),
  asking(
    {
      name: "usage",
      takes: "",
      summary: "Tokens and money",
      options: {
        by: { type: "string", value: "what", help: "chat, person, model or day (day)" },
        from: { type: "string", value: "date", help: "from this day on, such as 2026-11-15" },
        to: { type: "string", value: "date", help: "up to this day" },
      },
    },
    async (connection, typed, out) => {
      const by = (["chat", "person", "model", "day"] as const).find(
        (word) => word === (typed.text("by") ?? "day"),
      );
      if (!by) throw new CommandFailed(2, "--by takes chat, person, model or day.");
      const [from, to] = [typed.text("from"), typed.text("to")];
      const { usage } = await import("./inspect.js");
      await usage(connection, out, { by, ...(from ? { from } : {}), ...(to ? { to } : {}) });
    },
  ),
  asking(
    {
      name: "models",
      takes: "",
      summary: "Which models can be used now, what they cost and take, and what is missing for the rest",
      options: {},
    },
    async (connection, _typed, out) => (await import("./models.js")).models(connection, out),
  ),
  asking(
    {
      name: "why",
      takes: "[message]",
      summary:
        "Why a message was answered, or why not: by its id or its number (log --ids), or the last one said",
      options: { chat: { ...chat, help: "look in this chat only" } },
    },
    async (connection, typed, out) =>
      (await import("./inspect.js")).why(connection, typed.words[0], out, typed.text("chat")),
  ),
  asking({ name: "chats", takes: "", summary: "All chats", options: {} }, async ({ client }, _typed, out) => {
    const { chats } = await client.chats({ limit: 500 });
    const rows = chats.map(({ jid, name, trigger, bindings }) => [
      plain(jid),
      plain(name),
      `trigger ${JSON.stringify(trigger)}`,
      bindings.map(({ address }) => address).join(" "),
    ]);
    if (!out.json) out.line(columns(rows));
    else for (const known of chats) out.result(known, "");
  }),
  asking(
    { name: "addresses", takes: "", summary: "Who spoke at an address that belongs to no chat", options: {} },
    async (connection, _typed, out) => (await import("./register.js")).addresses(connection, out),
  ),
  asking(
    {
      name: "register",
      takes: "<address>",
      summary: "Register a chat: an address that knocked, or any name",
      options: {
        name: { type: "string", value: "name", help: "what people call it" },
        address: { type: "string", value: "address", help: "bind another address, such as webhook:room-1" },
        trigger: { type: "string", value: "trigger", help: "always, mention (the default) or sticky" },
        pattern: { type: "string", value: "pattern", help: "answer what matches, such as (?i)^hey bot" },
      },
    },
    async (connection, typed, out) => (await import("./register.js")).register(connection, typed, out),
  ),
  asking(
    {
      name: "settings",
      takes: "<jid> [setting=value…]",
      summary: "Show a chat's settings, or change some",
      options: {},
    },
    async (connection, typed, out) => (await import("./register.js")).settings(connection, typed.words, out),
  ),
  asking(
    {
      name: "people",
      takes: "[add, assign, unassign, link, remove…]",
      summary: "Who is who: one human behind several sender ids",
      details: PEOPLE_HELP,
      options: { id: { type: "string", value: "id", help: "with add: a short name for settings" } },
    },
    async (connection, typed, out) => people(connection, typed.words, out, { id: typed.text("id") }),
  ),
  asking(
    {
      name: "erase",
      takes: "<sender id or person:id>",
      summary: "Erase a person: what they said, are called and attached, in every chat, for good",
      options: { yes: { type: "boolean", help: "do not ask whether it is meant" } },
    },
    async (connection, typed, out) =>
      (await import("./erase.js")).erase(connection, typed.words[0] ?? "", out, { yes: typed.has("yes") }),
  ),
  asking(
    { name: "link", takes: "", summary: "A new one-time link to the page", options: {} },
    async ({ client, baseUrl }, _typed, out) => {
      const url = `${baseUrl}/#code=${(await client.link()).code}`;
      out.result({ url }, url);
    },
  ),
];
