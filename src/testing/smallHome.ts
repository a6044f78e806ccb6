import { expect } from "vitest";
import type { GatewayOptions } from "../gateway/index.js";
import { model } from "../provider/model.js";
import { openHome } from "./heldHome.js";
import type { SmallModel } from "./smallModel.js";

/** Twenty turns of these fill about two thousand tokens. */
const WORDS = "lorem ipsum ".repeat(20);

/** A gateway whose model has a small window (`known`: and says so), and people who say a lot. */
export async function smallHome(
  small: SmallModel,
  { known = true, ...options }: Partial<GatewayOptions> & { known?: boolean } = {},
) {
  const { store, home, gateway } = await openHome(
    { system_prompt: "Be brief." },
    {
      resolveModel: (id) => {
        const window = known ? small.window : null;
        return {
          ok: true,
          model: model({ api: "openai-chat", id, baseUrl: "http://127.0.0.1:1/v1", window }),
        };
      },
      fetch: small.fetch,
      limits: { leaseMs: 2000, attempts: 2 },
      ...options,
    },
  );
  const talk = async (turns: number, words = WORDS) => {
    for (let turn = 0; turn < turns; turn++) {
      expect(await home.outcome(await home.say(`${turn}: ${words}`))).toBe("answered");
    }
  };
  const compactions = async () =>
    (await store.read.entries("home", 10_000)).filter(({ kind }) => kind === "compaction");
  return { gateway, store, home, talk, compactions };
}
