import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqlite } from "../store/sqlite.js";
import { gateways, held, openHome, useHeldModel } from "../testing/heldHome.js";
import { OLIVIA } from "../testing/talk.js";

useHeldModel();

test("a name that was read long before its turn and erased since is not given to two people", async () => {
  const folder = mkdtempSync(join(tmpdir(), "longhand-foresight-"));
  const store = await openSqlite({ path: join(folder, "longhand.db") });
  const { gateway, home } = await openHome({}, { store });
  held.answerAll((call) => call.say("Fine."));
  const place = { channel_external_id: "C1", external_message_id: "1" };
  await home.ended(await home.say("hello", { ...OLIVIA, ...place }));
  // Sent once more by its platform: what a turn would need is read, and no turn comes.
  await home.say("hello", { ...OLIVIA, ...place });
  expect((await gateway.eraseSender("slack:U1")).status).toBe("erased");
  // By a channel on which more is waited for: nothing is read before the turn.
  await home.ended(await home.say("it is me again", { ...OLIVIA, source: "whatsapp" }));
  await home.ended(await home.say("no, me", { sender_id: "slack:U9", sender_display_name: "Olivia" }));
  expect(held.calls.at(-1)?.heard).toEqual(["[Olivia]: it is me again", "[Olivia 2]: no, me"]);
  await Promise.all(gateways.splice(0).map((running) => running.stop(0)));
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
