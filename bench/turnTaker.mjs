import { createGateway } from "../dist/gateway/index.js";
import { model } from "../dist/provider/model.js";
import { openPostgres } from "../dist/store/postgres.js";

/** A server that shares its database with another and says, of each message, when its turn started and ended here. */

const store = await openPostgres({ url: process.env.BENCH_DATABASE ?? "" });
const gateway = createGateway({
  store,
  resolveModel: () => ({ ok: true, model: model({ api: "demo", id: "demo", delayMs: 0 }) }),
  defaultModel: "demo/demo",
  log: (_level, event, { trace }) => {
    if (event !== "turn.started" && event !== "turn.ended") return;
    process.send?.({ event, id: trace, at: process.hrtime.bigint().toString() });
  },
});
await gateway.start();
process.send?.({ event: "ready" });

process.on("SIGTERM", async () => {
  await gateway.stop();
  await store.close();
  process.exit(0);
});
