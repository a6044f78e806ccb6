/** What a person can tell the host to do, in words that are the whole message. */
export type Command =
  | { type: "reset" }
  | { type: "stop" }
  | { type: "done" }
  | { type: "todos" }
  | { type: "context" }
  | { type: "usage" }
  /** Without a name: tell which model it is. */
  | { type: "model"; name: string | null }
  | { type: "fork" }
  | { type: "shell"; command: string };

const RESET = /^(?:clear|new|restart|reset)\s+(?:context|session|chat|conversation)$/i;
const DONE = /^(?:done|end\s+session)$/i;
const SINGLE = /^(?:stop|todos|context|usage|fork)$/i;
const MODEL = /^model(?:\s+(\S+))?$/i;
/** `!!!` is an exclamation: a command names something. */
const SHELL = /^!(?=[\s\S]*[\p{L}\p{N}])([\s\S]+)$/u;
/** Longer than any of the fixed words and any model's name; only a shell command may go on. */
const LONGEST = 300;

/** The command a message is, once its trigger is taken off; null when it is none. */
export function parseCommand(words: string): Command | null {
  const text = words.trim();
  const shell = SHELL.exec(text)?.[1]?.trim();
  if (shell) return { type: "shell", command: shell };
  if (text.length > LONGEST) return null;
  if (RESET.test(text)) return { type: "reset" };
  if (DONE.test(text)) return { type: "done" };
  const model = MODEL.exec(text);
  if (model) return { type: "model", name: model[1] ?? null };
  return SINGLE.test(text) ? { type: singleWord(text.toLowerCase()) } : null;
}

type Single = "stop" | "todos" | "context" | "usage" | "fork";

function singleWord(word: string): Single {
  switch (word) {
    case "todos":
    case "context":
    case "usage":
    case "fork":
      return word;
    default:
      return "stop";
  }
}

/** What a command is called, however it was typed. A shell command's words are its sender's, and stay in the row. */
export function commandWords(command: Command): string {
  switch (command.type) {
    case "reset":
      return "reset context";
    case "shell":
      return "shell";
    case "model":
    case "stop":
    case "done":
    case "todos":
    case "context":
    case "usage":
    case "fork":
      return command.type;
  }
}
