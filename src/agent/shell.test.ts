import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { runShell, type ShellOptions } from "./shell.js";

const OPTIONS: ShellOptions = { isolation: "none", timeMs: 20_000, outputBytes: 10_000 };
const outputOf = async (command: string, more: Partial<ShellOptions> = {}) => {
  const ended = await runShell(command, { ...OPTIONS, ...more });
  return ended.status === "ran" ? ended : { output: ended.why };
};

describe("a shell command", () => {
  it("gives its output and its exit code", async () => {
    expect(await runShell("echo one; exit 3", OPTIONS)).toEqual({
      status: "ran",
      output: "one\n",
      exit_code: 3,
      cut: false,
      timed_out: false,
      stopped: false,
    });
  });

  it("keeps what it says and what it complains of in the order of their lines", async () => {
    const { output } = await outputOf("for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done");
    const expected = [1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((i) => [`out ${i}`, `err ${i}`]);
    expect(output.trim().split("\n")).toEqual(expected);
  });

  it("takes every character of the command as it was typed", async () => {
    expect((await outputOf(`printf '%s|' "a  b" 'it'"'"'s' $((1+1)) "ünï🎈"`)).output).toBe(
      "a  b|it's|2|ünï🎈|",
    );
    expect((await outputOf("echo 'x\ny'; # 2>/dev/null")).output).toBe("x\ny\n");
  });

  it("is cut where it says too much, between two characters", async () => {
    const ended = await outputOf("i=0; while [ $i -lt 500 ]; do printf 'äöü'; i=$((i+1)); done", {
      outputBytes: 101,
    });
    expect(ended).toMatchObject({ cut: true, exit_code: 0 });
    expect(ended.output).toHaveLength(50);
    expect(ended.output.startsWith("äöüäöü")).toBe(true);
  });

  it("is ended with everything it started when its time is over", async () => {
    const mark = `mark-${process.pid}-shell`;
    const ended = await outputOf(`echo started; (sleep 300; : ${mark}) & sleep 300; : ${mark}`, {
      timeMs: 300,
    });
    expect(ended).toMatchObject({ output: "started\n", exit_code: null, timed_out: true, stopped: false });
    expect(execFileSync("ps", ["-ewwo", "args"], { encoding: "utf8" })).not.toContain(mark);
  });

  it("is ended when somebody stops it", async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 100);
    const ended = await outputOf("sleep 300", { signal: stop.signal });
    expect(ended).toMatchObject({ exit_code: null, timed_out: false, stopped: true });
    expect(await outputOf("echo ran", { signal: AbortSignal.abort() })).toMatchObject({ stopped: true });
  });

  it("has no input to wait for, and no variable of ours", async () => {
    expect(
      (await outputOf("cat; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD=", { env: { A: "1" } }))
        .output,
    ).toMatch(/^(?:PATH=\S+\nA=1|A=1\nPATH=\S+)\n$/);
  });

  it("runs where it was told to, or not at all", async () => {
    expect((await outputOf("pwd", { cwd: "/usr" })).output).toBe("/usr\n");
    expect(await runShell("pwd", { ...OPTIONS, cwd: "/no/such/folder" })).toMatchObject({
      status: "refused",
    });
    expect(await runShell("echo \u0000", OPTIONS)).toMatchObject({ status: "refused" });
  });
});
