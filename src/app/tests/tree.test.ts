import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../testing/serverProcess.js";
import { type Client, createClient, type TreeEntry } from "../client/index.js";
import { treeRoutes } from "../server/routes/tree.js";

describe("the tree of a chat", () => {
  let server: ServerProcess;
  let client: Client;
  let first: TreeEntry[];
  beforeAll(async () => {
    server = await ServerProcess.start();
    client = createClient({ baseUrl: server.baseUrl, token: server.token });
    for (const words of ["one", "two", "three"]) {
      const { body } = await server.submit("home", words);
      await server.outcome("home", String(body.message_id));
    }
    first = (await client.tree("home", { limit: 500 })).tree;
  });
  afterAll(() => server.dispose());

  /** What an answer holds is what the API says it holds. */
  async function told(
    method: "GET" | "POST",
    path: string,
    body?: unknown,
  ): Promise<Record<string, unknown>> {
    const answer = await server.ask(method, `/v1/chats/home/${path}`, body);
    const name = path.replace(/\?.*/, "");
    const answers = treeRoutes.find(
      (route) => route.method === method && route.path === `/v1/chats/:jid/${name}`,
    )?.answers;
    expect(answer.status, JSON.stringify(answer.body)).toBe(answers?.status);
    expect(answers?.schema?.parse(answer.body)).toEqual(answer.body);
    return answer.body;
  }

  it("is read page by page, oldest first, or from its newest entries", async () => {
    const all = await told("GET", "tree?limit=500");
    expect(all.head).toBe(first.at(-1)?.id);
    const read: unknown[] = [];
    let next: string | number | null = "";
    while (next !== null) {
      const page: Awaited<ReturnType<Client["tree"]>> = await client.tree("home", {
        limit: 4,
        ...(next === "" ? {} : { after: String(next) }),
      });
      read.push(...page.tree);
      next = page.next;
    }
    expect(read).toEqual(all.tree);
    const newest = await client.tree("home", { limit: 2, newest: true });
    expect(newest.tree).toEqual(first.slice(-2));
    expect(first[0]?.message?.content).toBe("one");
  });

  it("is forked, labelled, compacted and undone, and stands where it stood after a kill", async () => {
    const compacted = (await told("POST", "compact", {})) as { entry: TreeEntry };
    expect(compacted.entry.kind).toBe("compaction");
    expect(await told("POST", "head", { entry_id: compacted.entry.parent })).toEqual({
      head: first.at(-1)?.id,
    });
    const from = first.find(({ message }) => message?.content === "two");
    expect(await told("POST", "fork", { from: from?.message_id })).toEqual({ head: from?.id });
    await told("POST", "label", { entry_id: from?.id, label: "before three" });
    await server.down();
    await server.up();
    const { tree, head } = await client.tree("home", { limit: 500 });
    expect(head).toBe(from?.id);
    expect(tree.find(({ data }) => data.content === "before three")?.parent).toBe(from?.id);
    const { body } = await client.context("home");
    expect(body).toContain("two");
    expect(body).not.toContain("three");
    const summarised = await told("POST", "fork", { from: first[0]?.id, summarise: true });
    expect(summarised.head).not.toBe(first[0]?.id);
    expect((await client.context("home")).body).toContain("The conversation branched here");
  });

  it("says clearly what cannot be", async () => {
    const ask = (path: string, body: unknown, chat = "home") =>
      server.ask("POST", `/v1/chats/${chat}/${path}`, body);
    expect((await ask("fork", { from: "nowhere" })).status).toBe(404);
    expect((await ask("head", { entry_id: "nowhere" })).body.detail).toBe(
      "There is no entry nowhere in this chat.",
    );
    expect((await ask("head", {})).status).toBe(422);
    expect((await ask("fork", { from: 7, summarize: true })).status).toBe(422);
    for (const path of ["fork", "head", "compact", "label"]) {
      const body = { fork: { from: "x" }, head: { entry_id: null }, label: { entry_id: "x", label: "y" } };
      expect((await ask(path, body[path as "fork"] ?? {}, "nowhere")).status, path).toBe(404);
    }
    await server.ask("POST", "/v1/chats", { jid: "quiet" });
    const refused = await ask("compact", undefined, "quiet");
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toBe("Nothing has been said yet.");
    await server.ask("POST", "/v1/chats", { jid: "other" });
    expect((await ask("head", { entry_id: first[0]?.id }, "other")).status).toBe(404);
  });
});
