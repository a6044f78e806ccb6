import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RecordingHost } from "../testing/recordingHost.js";
import { type Container, modelOfContainer, runContainer } from "./container.js";
import { launchOf, type Sandbox } from "./isolation.js";
import { findIsolation } from "./isolationProbe.js";
import { runShell } from "./shell.js";

const found = await findIsolation();
const skipped = (name: "bubblewrap" | "docker"): boolean => {
  const state = found[name];
  if (!state.works) console.warn(`\n!!! NOT TESTED: ${name}: ${state.why}\n`);
  return !state.works;
};

const folder = mkdtempSync(join(tmpdir(), "longhand-isolation-"));
const own = join(folder, "own");
const outside = join(folder, "outside.txt");
let server: Server;
let address: string;

beforeAll(async () => {
  mkdirSync(own);
  writeFileSync(join(own, "mine.txt"), "mine");
  writeFileSync(outside, "not for you");
  server = createServer((_request, response) => response.end("reached"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs code as a container and gives the text of its answer. */
async function answerOf(code: string, sandbox: Sandbox): Promise<string> {
  writeFileSync(
    join(own, "program.mjs"),
    `${TRY}\nprocess.stdout.write(JSON.stringify({ type: "result", text: JSON.stringify(await (async () => { ${code} })()) }) + "\\n");`,
  );
  const container: Container = {
    name: "sandboxed",
    command: [process.execPath, join(own, "program.mjs")],
    folder: own,
    reads: [process.execPath],
    ...sandbox,
  };
  const limits = { steps: 3, attempts: 1, timeMs: 20_000, toolMs: 1000, usd: null };
  const host = new RecordingHost(modelOfContainer(container, limits), ["hello"]);
  const end = await runContainer(host, { container, limits }, new AbortController().signal);
  expect(end).toEqual({ status: "answered" });
  const [content] = host.answers[0]?.message.contents ?? [];
  return content?.type === "text" ? JSON.parse(content.content) : "";
}

const TRY = `
import { constants, openSync, readFileSync, writeFileSync, readdirSync } from "node:fs";
const tried = async (action) => { try { return await action(); } catch (error) { return "no: " + (error.cause?.code ?? error.code); } };`;

describe.skipIf(skipped("bubblewrap"))("bubblewrap", () => {
  const sandbox: Sandbox = { isolation: "bubblewrap" };

  it("shows a container its own folder, and no other file of this machine", async () => {
    const code = `return [
      await tried(() => readFileSync(${JSON.stringify(join(own, "mine.txt"))}, "utf8")),
      await tried(() => readFileSync(${JSON.stringify(outside)}, "utf8")),
      await tried(() => readFileSync("/etc/passwd", "utf8")),
      await tried(() => readdirSync("/root")),
      await tried(() => readdirSync("/etc/ssl/private")),
      await tried(() => readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).length < 5),
    ];`;
    const no = "no: ENOENT";
    expect(await answerOf(code, sandbox)).toEqual(["mine", no, no, no, no, true]);
  });

  it("lets it write in its folder only where that is allowed, and in a /tmp of its own", async () => {
    const code = (name: string) => `return [
      await tried(() => writeFileSync(${JSON.stringify(join(own, "made.txt"))}, "x") ?? "yes"),
      await tried(() => writeFileSync("/tmp/${name}", "x") ?? "yes"),
      await tried(() => writeFileSync("/usr/${name}", "x") ?? "yes"),
    ];`;
    expect(await answerOf(code("longhand-a"), sandbox)).toEqual(["no: EROFS", "yes", "no: EROFS"]);
    expect(existsSync(join(tmpdir(), "longhand-a"))).toBe(false);
    expect(await answerOf(code("longhand-b"), { ...sandbox, writable: true })).toEqual([
      "yes",
      "yes",
      "no: EROFS",
    ]);
    expect(readFileSync(join(own, "made.txt"), "utf8")).toBe("x");
  });

  it("keeps it from the settings of this machine, also when the server is root", async () => {
    // Opened for writing, and not a byte written: that it opens would be the hole.
    const code = `const open = (path) => tried(() => openSync(path, constants.O_WRONLY) && "opened " + path);
      return Promise.all(["/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness", "/proc/sysrq-trigger"].map(open));`;
    const no = expect.stringMatching(/^no: E(ROFS|ACCES|NOENT|PERM)$/);
    expect(await answerOf(code, sandbox)).toEqual([no, no, no]);
  });

  it("keeps it from this machine's ports unless the network is named", async () => {
    const code = `return tried(async () => (await fetch(${JSON.stringify(address)})).text());`;
    expect(await answerOf(code, sandbox)).toBe("no: ECONNREFUSED");
    expect(await answerOf(code, { ...sandbox, network: true })).toBe("reached");
  });

  it("gives it no variable that was not named, no capability, and no way to gain one", async () => {
    process.env.LONGHAND_TEST_SECRET = "inherited-secret";
    const code = `return [process.env, readFileSync("/proc/self/status", "utf8").match(/^(CapEff|CapBnd|NoNewPrivs):.*$/gm)];`;
    const seen = await answerOf(code, { ...sandbox, env: { NAMED: "yes" } });
    delete process.env.LONGHAND_TEST_SECRET;
    expect(seen).toEqual([
      { NAMED: "yes", PATH: expect.any(String), PWD: own },
      ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"],
    ]);
  });

  it("dies with whoever started it", async () => {
    const agent = (name: string) =>
      pathToFileURL(fileURLToPath(new URL(`../../dist/agent/${name}.js`, import.meta.url))).href;
    const beat = join(own, "beat.txt");
    const loop = `while :; do date +%s%N > ${beat}; sleep 0.05; done`;
    const parent = spawn(
      process.execPath,
      [
        "--input-type=module",
        "-e",
        `import { launchOf } from ${JSON.stringify(agent("isolation"))};
         import { startProcess } from ${JSON.stringify(agent("isolationProcess"))};
         const sandbox = { isolation: "bubblewrap", folder: ${JSON.stringify(own)}, writable: true };
         startProcess(launchOf(sandbox, ["/bin/sh", "-c", ${JSON.stringify(loop)}], "x"));`,
      ],
      { stdio: ["ignore", "ignore", "inherit"] },
    );
    await until(() => existsSync(beat) && readFileSync(beat, "utf8") !== "");
    parent.kill("SIGKILL");
    await new Promise((resolve) => parent.once("exit", resolve));
    await until(async () => {
      const before = readFileSync(beat, "utf8");
      await new Promise((resolve) => setTimeout(resolve, 400));
      return before !== "" && readFileSync(beat, "utf8") === before;
    });
  });

  it("a shell command does not take all of the memory, nor all of its /tmp, by one slip", async () => {
    const options = { isolation: "bubblewrap" as const, timeMs: 15_000, outputBytes: 1000 };
    const ended = await runShell("ulimit -d; ulimit -f; tail /dev/zero", options);
    expect(ended).toMatchObject({ status: "ran", exit_code: 1, timed_out: false });
    expect(ended.status === "ran" ? ended.output : "").toMatch(/^\d+\n\d+\n.*memory exhausted/);
  });

  it("runs a shell command that sees nothing of this machine", async () => {
    const options = { isolation: "bubblewrap" as const, timeMs: 10_000, outputBytes: 1000 };
    const ended = await runShell(
      `cat ${outside}; pwd; echo $HOME; ls /home /root /var 2>/dev/null; id -u >&2`,
      options,
    );
    expect(ended).toMatchObject({ status: "ran", exit_code: 0, cut: false, timed_out: false });
    expect(ended.status === "ran" && ended.output).toMatch(
      /^cat: .*No such file or directory\n\/tmp\n\n\d+\n$/,
    );
  });
});

describe("docker", () => {
  const sandbox: Sandbox = {
    isolation: "docker",
    folder: '/srv/a,"b',
    reads: ["/srv/models"],
    env: { API_KEY: "sk-very-secret" },
    image: "helper:1",
    memoryMb: 256,
  };

  it("is told to give no network, no writable disk, no capability, and bounded memory", () => {
    const launch = launchOf(sandbox, ["node", "agent.mjs"], "longhand-1");
    expect(launch.program).toBe("docker");
    expect(launch.args.slice(0, 3)).toEqual(["run", "--interactive", "--rm"]);
    const pairs = launch.args.map((arg, index) => `${arg} ${launch.args[index + 1]}`);
    for (const pair of [
      "--name longhand-1",
      "--network none",
      "--cap-drop ALL",
      "--security-opt no-new-privileges",
      "--memory 256m",
      "--memory-swap 256m",
      "--pids-limit 256",
      "--log-driver none",
      "--env API_KEY",
      '--mount type=bind,"source=/srv/a,""b","target=/srv/a,""b",readonly',
      '--mount type=bind,"source=/srv/models","target=/srv/models",readonly',
    ]) {
      expect(pairs).toContain(pair);
    }
    expect(launch.args).toContain("--read-only");
    expect(launch.args.slice(-3)).toEqual(["helper:1", "node", "agent.mjs"]);
    expect(launch.cleanUp).toEqual(["docker", "rm", "--force", "longhand-1"]);
  });

  it("shows no value of a variable in its arguments", () => {
    const launch = launchOf(sandbox, ["node"], "x");
    expect(launch.args.join(" ")).not.toContain("sk-very-secret");
    expect(launch.env).toMatchObject({ API_KEY: "sk-very-secret" });
  });

  it("gets the network and a writable folder only when they are named", () => {
    const args = launchOf(
      { isolation: "docker", folder: "/srv/x", writable: true, network: true },
      ["a"],
      "x",
    ).args;
    expect(args).toContain('type=bind,"source=/srv/x","target=/srv/x"');
    expect(args[args.indexOf("--network") + 1]).toBe("bridge");
  });

  it.skipIf(skipped("docker"))("runs a command where an engine answers", async () => {
    const options = { isolation: "docker" as const, image: "busybox", timeMs: 50_000, outputBytes: 1000 };
    expect(await runShell("echo hi; ls /sys/class/net", options)).toMatchObject({
      status: "ran",
      output: "hi\nlo\n",
    });
  });
});

describe("what isolates here", () => {
  it("is found out by trying, and what does not work says why", () => {
    expect(found.none).toEqual({ works: true });
    for (const state of [found.bubblewrap, found.docker]) {
      if (!state.works) expect(state.why).toMatch(/bubblewrap|docker|Docker/);
    }
  });

  it.skipIf(found.docker.works)(
    "a turn in a sandbox that is not there fails, and nothing runs without it",
    async () => {
      const container: Container = {
        name: "lost",
        command: ["touch", join(own, "ran")],
        isolation: "docker",
      };
      const limits = { steps: 3, attempts: 1, timeMs: 20_000, toolMs: 1000, usd: null };
      const host = new RecordingHost(modelOfContainer(container, limits), ["hello"]);
      const end = await runContainer(host, { container, limits }, new AbortController().signal);
      expect(end).toMatchObject({ status: "failed", message: { error: expect.stringMatching(/ocker/) } });
      expect(existsSync(join(own, "ran"))).toBe(false);
      const shell = await runShell(`touch ${join(own, "ran")}`, {
        isolation: "docker",
        timeMs: 1000,
        outputBytes: 10,
      });
      expect(shell).toMatchObject({ status: "refused", why: expect.stringContaining("was not run") });
      expect(existsSync(join(own, "ran"))).toBe(false);
    },
  );
});

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("it never came about");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
