import { get } from "node:http";
import { differenceOf, interleaved } from "./measure.mjs";
import { COMMAND, freePort, startNode, temporaryFolder } from "./surroundings.mjs";

/** From starting the process to its first answer, against a Node that does nothing but answer. */

const ROUNDS = 11;
const LOOK_EVERY_MS = 2;
const BARE =
  "require('http').createServer((q, s) => s.end()).listen(+process.env.LONGHAND_PORT, '127.0.0.1')";

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function startUp(progress) {
  const kept = temporaryFolder();
  try {
    await answersAfter([COMMAND, "start"], kept.path);
    const bare = () => answersAfter(["-e", BARE], kept.path);
    const again = { ours: () => answersAfter([COMMAND, "start"], kept.path), reference: bare };
    const first = { ours: firstStart, reference: bare };
    const onAgain = await interleaved(ROUNDS, again, (done, of) => progress(`round ${done} of ${of}`));
    const onFirst = await interleaved(ROUNDS, first, (done, of) =>
      progress(`first start, round ${done} of ${of}`),
    );
    const target = { atMost: 200 };
    return [
      { what: "start to listening / bare Node", unit: "ms", ...differenceOf(onAgain), target },
      {
        what: "  the very first start (makes the database)",
        unit: "ms",
        ...differenceOf(onFirst),
        target: null,
      },
    ];
  } finally {
    kept.remove();
  }
}

async function firstStart() {
  const folder = temporaryFolder();
  try {
    return await answersAfter([COMMAND, "start"], folder.path);
  } finally {
    folder.remove();
  }
}

/** Milliseconds from spawning to the first 200. @param {readonly string[]} args @param {string} data */
async function answersAfter(args, data) {
  const port = await freePort();
  const before = performance.now();
  const started = startNode(args, { env: { LONGHAND_PORT: String(port), LONGHAND_DATA: data }, cwd: data });
  const given = AbortSignal.timeout(30_000);
  while ((await statusOf(port)) !== 200) {
    if (given.aborted) throw new Error(`${args.join(" ")} does not answer`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  const took = performance.now() - before;
  await started.stop();
  return took;
}

/** @param {number} port @returns {Promise<number>} 0 when nobody listens */
function statusOf(port) {
  return new Promise((resolve) => {
    const request = get({ port, host: "127.0.0.1", path: "/healthz", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("error", () => resolve(0));
  });
}
