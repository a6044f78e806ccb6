#!/usr/bin/env node
import { helpOf, overview, readTyped } from "./command.js";
import { COMMANDS } from "./commands.js";
import { CommandFailed, output } from "./output.js";
import { loadEnvFile, SettingError } from "./settings.js";
import { version } from "./version.js";

// A reader that has seen enough (`| head`) closes the pipe; that is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
void run(process.argv.slice(2)).catch((error: unknown) => {
  process.exitCode = fail(error);
});

async function run([name, ...rest]: string[]): Promise<void> {
  const say = (text: string) => void process.stdout.write(`${text}\n`);
  if (name === undefined || name === "--help" || name === "-h" || name === "help")
    return say(overview(COMMANDS));
  if (name === "--version" || name === "-v") return say(version());
  const command = COMMANDS.find((known) => known.name === name);
  if (!command) {
    throw new CommandFailed(2, `There is no command "${name}". longhand --help lists what there is.`);
  }
  const typed = readTyped(command, rest);
  if (typed.has("help")) return say(helpOf(command));
  loadEnvFile();
  await command.run(typed, output);
}

/** Tell what is wrong and what to do; never a stack trace for what can happen to anybody. */
function fail(error: unknown): number {
  const say = (text: string) => process.stderr.write(`longhand: ${text}\n`);
  if (error instanceof CommandFailed) {
    say(error.message);
    return error.exitCode;
  }
  if (error instanceof SettingError) {
    say(error.message);
    return 2;
  }
  if (!(error instanceof Error)) return say(String(error)) ? 1 : 1;
  const code = "code" in error ? String(error.code) : "";
  if (code === "EADDRINUSE") {
    say(`${error.message}. Another server is there: choose a port with LONGHAND_PORT.`);
    return 3;
  }
  if (error.name === "StoreUnavailable" || error.name === "WrongDatabase" || /^E[A-Z]+$/.test(code)) {
    say(`${error.message}. Is the data folder right? Choose another with LONGHAND_DATA.`);
    return 3;
  }
  say(error.stack ?? error.message);
  return 1;
}
