import { type ParseArgsConfig, parseArgs } from "node:util";
import { CommandFailed, type Output } from "./output.js";

type OptionSpec = { type: "string" | "boolean"; short?: string; help: string; value?: string };

/** What was typed behind a command: words, and options by name. */
export type Typed = {
  words: string[];
  text(option: string): string | undefined;
  has(option: string): boolean;
};

/** One command: what it takes, what it says of itself, and what it does. */
export type Command = {
  name: string;
  /** How its words are called in the help: `<id>`, `[words…]`. */
  takes: string;
  summary: string;
  /** What it can be asked, line by line, where one summary does not say it. */
  details?: string;
  options: Record<string, OptionSpec>;
  run(typed: Typed, out: (json: boolean) => Output): Promise<void>;
};

const EVERYWHERE: Record<string, OptionSpec> = {
  json: { type: "boolean", help: "print JSON, one value a line" },
  help: { type: "boolean", short: "h", help: "say what the command does" },
};

/** Read what was typed. Values stay text: a chat may be named 007. */
export function readTyped(command: Command, argv: readonly string[]): Typed {
  const options = { ...command.options, ...EVERYWHERE };
  const config: ParseArgsConfig = {
    args: [...argv],
    allowPositionals: true,
    options: Object.fromEntries(
      Object.entries(options).map(([name, { type, short }]) => [name, { type, ...(short ? { short } : {}) }]),
    ),
  };
  try {
    const { values, positionals } = parseArgs(config);
    checkWords(command, positionals);
    return {
      words: positionals,
      text: (option) => (typeof values[option] === "string" ? values[option] : undefined),
      has: (option) => values[option] === true,
    };
  } catch (error) {
    if (error instanceof CommandFailed) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandFailed(2, `${why}\nSee: longhand ${command.name} --help`);
  }
}

/** `<id>` is one word, `[id]` one or none, `[words…]` any number, nothing none. */
function checkWords({ name, takes }: Command, words: readonly string[]): void {
  const needed = takes.match(/<[^<>…]*>/g)?.length ?? 0;
  const optional = takes.match(/\[[^[\]]*\]/g)?.length ?? 0;
  const most = takes.includes("…") ? Number.POSITIVE_INFINITY : needed + optional;
  if (words.length < needed) throw new CommandFailed(2, `${takes} is missing: longhand ${name} ${takes}`);
  if (words.length > most)
    throw new CommandFailed(2, `"${words[most]}" is one word too many. See: longhand ${name} --help`);
}

/** What a command does and takes, for people. */
export function helpOf({ name, takes, summary, details, options }: Command): string {
  const lines = Object.entries({ ...options, ...EVERYWHERE }).map(([option, { short, value, help }]) => [
    `  ${short ? `-${short}, ` : ""}--${option}${value ? ` <${value}>` : ""}`,
    help,
  ]);
  const width = Math.max(...lines.map(([left = ""]) => left.length));
  const table = lines.map(([left = "", right = ""]) => `${left.padEnd(width)}  ${right}`).join("\n");
  return `longhand ${[name, takes].filter(Boolean).join(" ")}\n\n${summary}.\n\n${details ? `${details}\n\n` : ""}${table}`;
}

/** All commands in a line each. */
export function overview(commands: readonly Command[]): string {
  const lines = commands.map(({ name, takes, summary }) => [
    `  ${[name, takes].filter(Boolean).join(" ")}`,
    summary,
  ]);
  const width = Math.max(...lines.map(([left = ""]) => left.length));
  const table = lines.map(([left = "", right = ""]) => `${left.padEnd(width)}  ${right}`).join("\n");
  return `longhand <command> [options]\n\n${table}\n\nlonghand <command> --help says more; --version tells the version.`;
}
