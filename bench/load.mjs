import { connect } from "node:net";
import { quantile } from "./measure.mjs";

/**
 * Keeps a server busy, in a process of its own. Bytes are prepared beforehand and answers only skimmed, so that on a
 * small machine nearly all of the time is the server's.
 */

const NUMBER_WIDTH = 12;
let sent = 0;

process.on("message", async (order) => {
  try {
    process.send?.(await round(order));
  } catch (error) {
    process.send?.({ error: String(error) });
  }
});

/** @param {{ port: number, token: string, path: string, body: string, connections: number, seconds: number }} order */
async function round(order) {
  const latencies = [];
  const until = performance.now() + order.seconds * 1000;
  const before = performance.now();
  await Promise.all(Array.from({ length: order.connections }, () => one(order, until, latencies)));
  const seconds = (performance.now() - before) / 1000;
  return {
    perSecond: latencies.length / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}

/** One connection: a request, its answer, the next request. */
function one(order, until, latencies) {
  const { bytes, place } = request(order);
  return new Promise((resolve, reject) => {
    const socket = connect({ port: order.port, host: "127.0.0.1", noDelay: true });
    let began = 0;
    let pending = "";
    const next = () => {
      began = performance.now();
      if (began >= until) return socket.end();
      sent += 1;
      bytes.write(String(sent).padStart(NUMBER_WIDTH, "0"), place, "latin1");
      socket.write(bytes);
    };
    socket.on("connect", next);
    socket.on("data", (chunk) => {
      pending += chunk.latin1Slice();
      if (!isWhole(pending)) return;
      if (!pending.startsWith("HTTP/1.1 202 ")) return socket.destroy(new Error(pending));
      pending = "";
      latencies.push(performance.now() - began);
      next();
    });
    socket.on("error", reject);
    socket.on("close", resolve);
  });
}

/** @param {string} answer */
function isWhole(answer) {
  const head = answer.indexOf("\r\n\r\n");
  if (head < 0) return false;
  const length = /content-length: (\d+)/i.exec(answer)?.[1];
  if (length === undefined) throw new Error(`an answer without a length: ${answer}`);
  return answer.length >= head + 4 + Number(length);
}

/** The request as bytes. Where the body says `#`, each gets its own number. */
function request({ path, token, body }) {
  const numbered = body.replace("#", "0".repeat(NUMBER_WIDTH));
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    `authorization: Bearer ${token}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(numbered)}`,
    "",
    "",
  ].join("\r\n");
  const before = Buffer.byteLength(head + body.slice(0, body.indexOf("#")));
  return { bytes: Buffer.from(head + numbered), place: before };
}
