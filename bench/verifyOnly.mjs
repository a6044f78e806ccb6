import { join } from "node:path";
import { createGateway, systemClock, Tokens } from "../dist/gateway/index.js";
import { resolveModel } from "../dist/provider/model.js";
import { createServer } from "../dist/app/server/server.js";
import { openSqlite } from "../dist/store/sqlite.js";

/**
 * The same doors and the same hallway as the real server, over a store that says "committed" to every message and
 * keeps none: what is left is reading the request, checking the token, validating and admitting.
 */

const { LONGHAND_DATA: data, LONGHAND_TOKEN: token } = process.env;
const store = await openSqlite({ path: join(data, "longhand.db") });
const gateway = createGateway({
  store: forgetful(store),
  resolveModel: (name) => resolveModel(name, process.env),
  defaultModel: "demo/demo",
});
await gateway.start();
const server = createServer({
  gateway,
  tokens: new Tokens(store, token, systemClock),
  models: () => [],
  version: "bench",
  pageFolder: data,
  hosts: ["127.0.0.1"],
  report: (error) => process.stderr.write(`${error?.stack ?? error}\n`),
});
const address = await server.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`listening on ${address}\n`);

process.on("SIGTERM", async () => {
  await server.close();
  await gateway.stop();
  await store.close();
  process.exit(0);
});

/** @param {import("../dist/store/store.js").Store} real */
function forgetful(real) {
  let seq = 0;
  return {
    ...real,
    async commit(batch) {
      const messages = batch.facts.filter((fact) => fact.type === "message");
      if (messages.length === 0) return real.commit(batch);
      return {
        status: "committed",
        seqs: Object.fromEntries(messages.map(({ message }) => [message.id, ++seq])),
      };
    },
  };
}
