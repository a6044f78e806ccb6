#!/usr/bin/env node
import { cac } from "cac";
import type { NewChat } from "../../message/index.js";
import { CommandFailed, columns, type Output, output } from "./output.js";
import { loadEnvFile, SettingError } from "./settings.js";
import type { Connection } from "./connect.js";

type Common = { json?: boolean; chat?: string };

const cli = cac("longhand");
cli.option("--json", "Print JSON instead of text");

cli.command("start", "Start the server").action(async () => {
  const { start } = await import("./start.js");
  await start(process.env);
});

cli
  .command("send [...words]", "Say something and read the answer")
  .option("--chat <jid>", "Which chat", { default: "home" })
  .option("--as <name>", "Your name")
  .option("--no-wait", "Do not wait for the answer")
  .action((words: string[], options: Common & { as?: string; wait: boolean }) =>
    connected(options, async (connection, out) => {
      const { send } = await import("./conversation.js");
      const details = { wait: options.wait, ...(options.as === undefined ? {} : { as: String(options.as) }) };
      await send(connection, chatOf(options), words, out, details);
    }),
  );

cli
  .command("log", "Read the conversation")
  .option("-f, --follow", "Go on as it is spoken")
  .option("-n, --count <count>", "How many messages", { default: 50 })
  .option("--chat <jid>", "Which chat", { default: "home" })
  .action((options: Common & { follow?: boolean; count: number }) =>
    connected(options, async (connection, out) => {
      const { log } = await import("./conversation.js");
      const count = Number(options.count);
      if (!Number.isInteger(count) || count < 1 || count > 500)
        throw new CommandFailed(2, "--count takes a number from 1 to 500.");
      await log(connection, chatOf(options), out, { count, follow: options.follow === true });
    }),
  );

cli
  .command("call <id>", "What the model saw in one call")
  .option("--raw", "The exact bytes")
  .action((id: string, options: Common & { raw?: boolean }) =>
    connected(options, async (connection, out) => {
      const { call } = await import("./inspect.js");
      await call(connection, String(id), out, { raw: options.raw === true });
    }),
  );

cli
  .command("calls", "The calls of a chat")
  .option("--chat <jid>", "Which chat", { default: "home" })
  .action((options: Common) =>
    connected(options, async (connection, out) =>
      (await import("./inspect.js")).calls(connection, chatOf(options), out),
    ),
  );

cli
  .command("context", "What the model would see now")
  .option("--chat <jid>", "Which chat", { default: "home" })
  .action((options: Common) =>
    connected(options, async (connection, out) =>
      (await import("./inspect.js")).context(connection, chatOf(options), out),
    ),
  );

cli
  .command("why <message>", "Why a message was answered, or why not")
  .option("--chat <jid>", "Look in this chat only")
  .action((message: string, options: Common) =>
    connected(options, async (connection, out) =>
      (await import("./inspect.js")).why(connection, String(message), out, options.chat),
    ),
  );

cli.command("chats", "All chats").action((options: Common) =>
  connected(options, async ({ client }, out) => {
    const { chats } = await client.chats({ limit: 500 });
    const rows = chats.map((chat) => [
      chat.jid,
      chat.name,
      `trigger ${JSON.stringify(chat.trigger)}`,
      chat.bindings.map(({ address }) => address).join(" "),
    ]);
    out.result(chats, columns(rows));
  }),
);

cli
  .command("register <jid>", "Register a chat")
  .option("--address <address>", "Bind an address such as slack:C06RY3YBSLE")
  .option("--trigger <trigger>", "always or mention")
  .action((jid: string, options: Common & { address?: string; trigger?: string }) =>
    connected(options, async ({ client }, out) => {
      const chat = await client.registerChat(newChat(String(jid), options));
      out.result(chat, `Registered ${chat.jid}. Say something: longhand send --chat ${chat.jid} hello`);
    }),
  );

cli.command("link", "A new one-time link to the page").action((options: Common) =>
  connected(options, async ({ client, baseUrl }, out) => {
    const { code } = await client.link();
    out.result({ url: `${baseUrl}/#code=${code}` }, `${baseUrl}/#code=${code}`);
  }),
);

cli.help();
// A reader that has seen enough (`| head`) closes the pipe; that is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
void run();

async function run(): Promise<void> {
  try {
    loadEnvFile();
    cli.parse(process.argv, { run: false });
    if (!cli.matchedCommand && !cli.options.help) {
      cli.outputHelp();
      process.exitCode = cli.args.length > 0 ? 2 : 0;
      return;
    }
    await cli.runMatchedCommand();
  } catch (error) {
    process.exitCode = fail(error);
  }
}

/** Tell what is wrong and what to do; never a stack trace for what can happen to anybody. */
function fail(error: unknown): number {
  const say = (text: string) => process.stderr.write(`longhand: ${text}\n`);
  if (error instanceof CommandFailed) {
    say(error.message);
    return error.exitCode;
  }
  if (error instanceof SettingError || (error instanceof Error && error.name === "CACError")) {
    say(error.message);
    return 2;
  }
  if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") {
    say(`${error.message}. Another server is there: choose a port with LONGHAND_PORT.`);
    return 3;
  }
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return 1;
}

async function connected(
  options: Common,
  action: (connection: Connection, out: Output) => Promise<void>,
): Promise<void> {
  const { connect } = await import("./connect.js");
  const { ApiProblem } = await import("../client/index.js");
  const connection = connect(process.env);
  try {
    await action(connection, output(options.json === true));
  } catch (error) {
    if (error instanceof ApiProblem) throw new CommandFailed(4, error.detail || error.title);
    if (isUnreachable(error)) {
      throw new CommandFailed(3, `No server answers at ${connection.baseUrl}. Start one: npm start`);
    }
    throw error;
  }
}

function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError && error.message === "fetch failed";
}

function chatOf(options: Common): string {
  return String(options.chat ?? "home");
}

function newChat(jid: string, options: { address?: string; trigger?: string }): NewChat {
  const { address, trigger } = options;
  if (trigger !== undefined && trigger !== "always" && trigger !== "mention") {
    throw new CommandFailed(2, "--trigger takes always or mention.");
  }
  const channel = address?.split(":", 1)[0] ?? "";
  return {
    jid,
    ...(trigger ? { trigger } : {}),
    ...(address ? { bindings: [{ channel, address, mode: "both", trace: "short", threads: "shared" }] } : {}),
  };
}
