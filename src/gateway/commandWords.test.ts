import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { commandWords, parseCommand } from "./commandWords.js";

describe("words that are a command when they are the whole message", () => {
  const resets = ["clear", "new", "restart", "reset"].flatMap((verb) =>
    ["context", "session", "chat", "conversation"].map((noun) => `${verb} ${noun}`),
  );
  test.each(resets)("%s starts afresh", (words) => {
    expect(parseCommand(words)).toEqual({ type: "reset" });
    expect(commandWords({ type: "reset" })).toBe("reset context");
  });

  test.each([
    ["stop", { type: "stop" }],
    ["STOP", { type: "stop" }],
    ["  \n stop \t", { type: "stop" }],
    ["done", { type: "done" }],
    ["End   Session", { type: "done" }],
    ["todos", { type: "todos" }],
    ["Context", { type: "context" }],
    ["usage", { type: "usage" }],
    ["fork", { type: "fork" }],
    ["model", { type: "model", name: null }],
    ["model openai/gpt-5", { type: "model", name: "openai/gpt-5" }],
    ["MODEL  Demo/Demo ", { type: "model", name: "Demo/Demo" }],
    ["!ls -la", { type: "shell", command: "ls -la" }],
    [" !echo one\necho two\n", { type: "shell", command: "echo one\necho two" }],
    ["! uptime", { type: "shell", command: "uptime" }],
  ])("%j", (words, command) => {
    expect(parseCommand(words)).toEqual(command);
  });

  test.each([
    "",
    " ",
    "please stop",
    "stop it",
    "stop.",
    "stop the music",
    "stops",
    "reset",
    "reset the context",
    "new contexts",
    "clearcontext",
    "end",
    "session",
    "done?",
    "todo",
    "todos for today",
    "model a b",
    "models",
    "!",
    "!!!",
    "!?",
    "hello !ls",
    "ｓtop",
    "st\u200bop",
    "(mention)",
  ])("%j is something to say, not a command", (words) => {
    expect(parseCommand(words)).toBeNull();
  });
});

test("whatever is typed, reading it as a command does not fail, and its name is one of those people know", () => {
  const known = ["reset context", "stop", "done", "todos", "context", "usage", "model", "fork", "shell"];
  const words = fc.constantFrom(
    "stop",
    "reset",
    "context",
    "model",
    "!",
    " ",
    "\n",
    "done",
    "end",
    "session",
    "x",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.array(words).map((list) => list.join("")),
      ),
      (text) => {
        const command = parseCommand(text);
        if (command) expect(known).toContain(commandWords(command));
      },
    ),
  );
});

test("a mebibyte of anything is read without a hitch", () => {
  for (const trick of [" ", "!", "model ", "\n", "reset context "]) {
    parseCommand(trick.repeat(Math.ceil(2 ** 20 / trick.length)));
  }
});
