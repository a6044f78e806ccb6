import { bubblewrapArguments } from "./isolationBubblewrap.js";
import { dockerArguments } from "./isolationDocker.js";

/** What stands between a program and this machine. */
export const ISOLATIONS = ["none", "bubblewrap", "docker"] as const;
export type Isolation = (typeof ISOLATIONS)[number];

/** What a program may see of this machine. Whatever is not named, it does not get. */
export type Sandbox = {
  isolation: Isolation;
  /** Its own folder, in which it starts. Without one: an empty place of its own, or `/` where nothing isolates. */
  folder?: string | null;
  /** May it change its folder? */
  writable?: boolean;
  /** More files and folders it may read. */
  reads?: readonly string[];
  /** May it reach other machines, and this one's own ports? */
  network?: boolean;
  /** All of its environment, besides a plain PATH. */
  env?: Readonly<Record<string, string>>;
  /** Docker's image. */
  image?: string;
  /** Docker's limit of memory, in MiB. */
  memoryMb?: number;
};

/** A program ready to be started. */
export type Launch = {
  program: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** What to run so that nothing is left of it, where killing its process is not enough. */
  cleanUp: readonly string[] | null;
};

/** The only variable nobody has to name. */
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** How to start a command in a sandbox. `name` is unique among what runs. Pure: nothing is looked up. */
export function launchOf(sandbox: Sandbox, command: readonly [string, ...string[]], name: string): Launch {
  const [program, ...args] = command;
  // Values travel in the environment, never in arguments, which every user of the machine can read.
  const env = { PATH, ...sandbox.env };
  switch (sandbox.isolation) {
    case "none":
      return { program, args, env, cwd: sandbox.folder ?? "/", cleanUp: null };
    case "bubblewrap":
      return { program: "bwrap", args: bubblewrapArguments(sandbox, command), env, cwd: "/", cleanUp: null };
    case "docker":
      return {
        program: "docker",
        args: dockerArguments(sandbox, command, name),
        env,
        cwd: "/",
        cleanUp: ["docker", "rm", "--force", name],
      };
  }
}
