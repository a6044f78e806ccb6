import { describe, expect, it } from "vitest";
import { defineTool } from "../agent/index.js";
import { model } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import type { Store } from "../store/store.js";
import { Life, mortalClock, mortalFetch, mortalStore } from "../testing/mortality.js";
import { StoryModel } from "../testing/storyModel.js";
import { systemClock } from "./clock.js";
import { createGateway, type Gateway, type GatewayOptions } from "./gateway.js";

const MODEL = model({ api: "openai-chat", id: "story", baseUrl: "http://127.0.0.1:9/v1" });
const MOST_LIVES = 20;

/** A server that is started again each time it goes down. `dies` takes the whole process with it. */
class Restarting {
  lives = 0;
  readonly storyModel = new StoryModel();
  private gateway: Gateway | null = null;
  private life = new Life(null);

  constructor(
    readonly store: Store,
    private readonly parts: (dies: () => Promise<never>, model: StoryModel) => Partial<GatewayOptions>,
  ) {}

  async up(): Promise<Gateway> {
    const life = new Life({ kind: "death", nth: 1, side: "before" });
    this.life = life;
    this.lives++;
    const { fetch = this.storyModel.fetch, ...parts } = this.parts(
      () => life.step<never>("death", () => new Promise(() => {})),
      this.storyModel,
    );
    this.gateway = createGateway({
      store: mortalStore(this.store, life),
      clock: mortalClock(systemClock, life),
      fetch: mortalFetch(fetch, life),
      resolveModel: () => ({ ok: true, model: MODEL }),
      defaultModel: "openai/story",
      holder: "the-only-one",
      limits: { crashWaitMs: 1 },
      ...parts,
    });
    await Promise.race([this.gateway.start(), life.ended]);
    return this.gateway;
  }

  /** Until the message has an outcome, in as many lives as that takes. */
  async outcome(id: string): Promise<string> {
    while (this.lives < MOST_LIVES) {
      const inbound = await this.store.read.inbound("home", id);
      if (inbound && inbound.outcome !== "pending") return inbound.outcome;
      if (this.life.isOver) await this.up();
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return `none in ${this.lives} lives`;
  }

  async say(content: string): Promise<string> {
    const gateway = this.life.isOver || !this.gateway ? await this.up() : this.gateway;
    const said = gateway.submitChat("home", { content, msg_metadata: OLIVIA });
    const result = await said;
    if (result.status !== "stored") throw new Error(JSON.stringify(result));
    return result.answer.message_id;
  }

  async hostWords(): Promise<string[]> {
    const rows = await (this.gateway as Gateway).getMessagesSince("home", 0);
    return rows.filter((row) => row.sender === "host").map((row) => row.content);
  }

  stop(): Promise<void> {
    return this.gateway?.stop(0) ?? Promise.resolve();
  }
}

/** Until some words of the newest answer are kept. */
async function saved({ read }: Store): Promise<void> {
  for (;;) {
    const call = await read.lastCall("home", "");
    if (call && (await read.partial(call)).length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const OLIVIA = {
  source: "slack",
  sender_id: "slack:U1",
  sender_display_name: "Olivia",
  sender_type: "human",
} as const;

describe("a message that takes the server down each time it is read", () => {
  it("is set aside after a few tries, people are told, and the chat goes on without it", async () => {
    const server = new Restarting(openMemory(), (dies, storyModel) => ({
      fetch: (url, init) => (String(init.body).includes("poison") ? dies() : storyModel.fetch(url, init)),
    }));
    expect(await server.outcome(await server.say("good morning"))).toBe("answered");
    expect(await server.outcome(await server.say("here is poison"))).toBe("failed");
    expect(server.lives).toBeGreaterThan(3);
    expect(server.lives).toBeLessThan(12);
    expect((await server.hostWords()).join()).toContain("could not answer");
    const lives = server.lives;
    expect(await server.outcome(await server.say("and now"))).toBe("answered");
    expect(server.lives).toBe(lives);
    expect(server.storyModel.bodies.at(-1)).toContain("good morning");
    expect(server.storyModel.problems()).toEqual([]);
    expect(await server.store.read.runningTurns("home")).toEqual([]);
    await server.stop();
  });

  it("is set aside also when it does so before its turn begins", async () => {
    let poisoned = "";
    const server = new Restarting(openMemory(), (dies) => ({
      notices: async () => {
        const untaken = await server.store.read.untaken("home", "", 100);
        return untaken.some(({ content }) => content === poisoned) ? dies() : [];
      },
    }));
    await server.up();
    poisoned = "a name no parser survives";
    expect(await server.outcome(await server.say(poisoned))).toBe("failed");
    const lives = server.lives;
    expect(await server.outcome(await server.say("and now"))).toBe("answered");
    expect(server.lives).toBe(lives);
    expect(server.storyModel.bodies.join()).not.toContain(poisoned);
    await server.stop();
  });

  it("keeps what others said meanwhile in view", async () => {
    const server = new Restarting(openMemory(), (dies, storyModel) => ({
      fetch: (url, init) => (String(init.body).includes("poison") ? dies() : storyModel.fetch(url, init)),
    }));
    const gateway = await server.up();
    await gateway.storePassiveMessage("home", { content: "the train leaves at nine", msg_metadata: OLIVIA });
    expect(await server.outcome(await server.say("here is poison"))).toBe("failed");
    expect(await server.outcome(await server.say("when was that"))).toBe("answered");
    expect(server.storyModel.bodies.at(-1)).toContain("the train leaves at nine");
    expect(server.storyModel.bodies.at(-1)).not.toContain("poison");
    await server.stop();
  });

  it("leaves what was said of its answer by then to people, marked as cut", async () => {
    const server = new Restarting(openMemory(), (dies, storyModel) => ({
      limits: { saveEveryMs: 1 },
      fetch: async (url, init) => {
        const response = await storyModel.fetch(url, init);
        if (!String(init.body).includes("poison slowly")) return response;
        void saved(server.store).then(dies);
        return response;
      },
    }));
    const asked = await server.say("poison slowly");
    expect(await server.outcome(asked)).toBe("failed");
    expect(await server.outcome(await server.say("and now"))).toBe("answered");
    const rows = await server.store.read.messages({
      chat_jid: "home",
      after_seq: 0,
      before_seq: null,
      limit: 100,
      message_type: null,
      sender: "bot",
    });
    const cut = rows.filter(({ metadata }) => metadata.cut === true);
    expect(cut.length).toBe(server.lives - 1);
    for (const { content } of cut) expect("The answer to poison slowly is yes.").toContain(content);
    expect(server.storyModel.bodies.at(-1)).not.toContain("poison");
    await server.stop();
  });

  it("may have done so by a tool that may run again: that is not tried for ever either", async () => {
    let runs = 0;
    const server = new Restarting(openMemory(), (dies) => ({
      tools: ["look", "book"].map((name) =>
        defineTool({
          name,
          description: name,
          repeatable: true,
          parameters: { type: "object", properties: {} },
          run: () => {
            runs++;
            return dies();
          },
        }),
      ),
    }));
    expect(await server.outcome(await server.say("make a plan"))).toBe("failed");
    expect(runs).toBeLessThan(20);
    expect(await server.outcome(await server.say("and now"))).toBe("answered");
    expect(server.storyModel.problems()).toEqual([]);
    await server.stop();
  });
});

describe("a message that makes the assistant's own code fail", () => {
  it("is set aside after a few tries, and the chat goes on without it", async () => {
    const server = new Restarting(openMemory(), () => ({
      resolveModel: async () => {
        const head = await server.store.read.head("home", "");
        const path = head === null ? [] : await server.store.read.path("home", head, 100);
        const untaken = await server.store.read.untaken("home", "", 100);
        const words = [
          ...path.map(({ message }) => message?.content),
          ...untaken.map(({ content }) => content),
        ];
        if (words.includes("a bug")) throw new Error("something nobody thought of");
        return { ok: true, model: MODEL };
      },
    }));
    expect(await server.outcome(await server.say("a bug"))).toBe("failed");
    expect(await server.outcome(await server.say("and now"))).toBe("answered");
    expect(server.lives).toBe(1);
    await server.stop();
  });
});
