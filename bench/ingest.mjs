import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { interleaved, ratioOf } from "./measure.mjs";
import { announcedPort, COMMAND, startNode, temporaryFolder } from "./surroundings.mjs";

/** Durable ingest over HTTP, against the same server that verifies and answers but stores nothing. */

const ROUNDS = 9;
const SECONDS = 2;
const CONNECTIONS = 64;
const TOKEN = "bench-token-0123456789";
const CHAT = { jid: "bench", trigger: "mention" };
/** A sentence without a mention: kept, and no turn runs. `#` becomes the number of the request. */
const BODY = JSON.stringify({
  content:
    "Has anybody seen the figures of last week? I would like to have them before the meeting at three.",
  msg_metadata: {
    source: "slack",
    sender_id: "slack:U06STGBF4Q0",
    sender_display_name: "Ada Lovelace",
    sender_type: "human",
    channel_external_id: "C06RY3YBSLE",
    external_message_id: "#",
  },
});
const VERIFY_ONLY = fileURLToPath(new URL("./verifyOnly.mjs", import.meta.url));
const LOAD = fileURLToPath(new URL("./load.mjs", import.meta.url));

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function ingest(progress) {
  progress("starting two servers");
  const [durable, verifying] = [await startServer([COMMAND, "start"]), await startServer([VERIFY_ONLY])];
  const load = startNode([LOAD], { ipc: true });
  try {
    const side = (server) => () => drive(load.child, server.port, SECONDS).finally(() => settled(server));
    for (const server of [durable, verifying]) await side(server)();
    const sides = { ours: side(durable), reference: side(verifying) };
    const pairs = await interleaved(ROUNDS, sides, (done, of) => progress(`round ${done} of ${of}`));
    return [
      {
        what: "durable ingest over HTTP / verify only",
        unit: "req/s",
        ...ratioOf(pairs.map(pick("perSecond"))),
        target: { atLeast: 0.75 },
      },
      { what: "  its p99", unit: "ms", ...ratioOf(pairs.map(pick("p99"))), target: { atMost: 2 } },
    ];
  } finally {
    await Promise.all([load.stop(), durable.stop(), verifying.stop()]);
  }
}

/** @param {"perSecond" | "p99"} name */
const pick = (name) => (pair) => ({ ours: pair.ours[name], reference: pair.reference[name] });

/** @param {readonly string[]} args */
async function startServer(args) {
  const folder = temporaryFolder();
  const env = { LONGHAND_DATA: folder.path, LONGHAND_PORT: "0", LONGHAND_TOKEN: TOKEN };
  const started = startNode(args, { env, cwd: folder.path });
  const port = await announcedPort(started);
  await ask(port, "POST", "/v1/chats", CHAT);
  const stop = async () => {
    await started.stop();
    folder.remove();
  };
  return { port, stop };
}

/** @param {import("node:child_process").ChildProcess} load @param {number} port @param {number} seconds */
async function drive(load, port, seconds) {
  const path = `/v1/chats/${CHAT.jid}/submit`;
  load.send({ port, token: TOKEN, path, body: BODY, connections: CONNECTIONS, seconds });
  const [report] = await once(load, "message");
  if (report.error) throw new Error(report.error);
  return report;
}

/** Messages are made searchable when it is quiet. Wait for that, or the other side's round would pay for it. */
async function settled({ port }) {
  await ask(port, "GET", `/v1/chats/${CHAT.jid}/messages?q=nowhere&limit=1`);
}

async function ask(port, method, path, body) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, ...(body ? { "content-type": "application/json" } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
