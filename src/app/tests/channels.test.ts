import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../testing/serverProcess.js";

const SECRET = `whsec_${Buffer.from("a secret of thirty-two bytes ok!").toString("base64")}`;

describe("the signed webhook channel", () => {
  const received: { id: string; data: Record<string, unknown> }[] = [];
  let failNext = 0;
  const platform = createServer(async (request: IncomingMessage, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    if (failNext > 0) {
      failNext--;
      response.writeHead(503, { "retry-after": "0" }).end();
      return;
    }
    const event = new Webhook(SECRET).verify(body, request.headers as Record<string, string>) as {
      data: Record<string, unknown>;
    };
    received.push({ id: String(request.headers["webhook-id"]), data: event.data });
    response.writeHead(200).end("{}");
  });
  let server: ServerProcess;
  beforeAll(async () => {
    await new Promise<void>((resolve) => platform.listen(0, "127.0.0.1", resolve));
    server = await ServerProcess.start({
      LONGHAND_WEBHOOK_SECRET: SECRET,
      LONGHAND_WEBHOOK_URL: `http://127.0.0.1:${(platform.address() as AddressInfo).port}/`,
    });
    const bindings = [{ channel: "webhook", address: "webhook:room-1", trace: "off" }];
    await server.ask("POST", "/v1/chats", { jid: "hooked", trigger: "always", bindings });
  });
  afterAll(async () => {
    await server.dispose();
    platform.closeAllConnections();
    platform.close();
  });

  const push = async (id: string, payload: Record<string, unknown>, secret = SECRET) => {
    const body = JSON.stringify(payload);
    const at = new Date();
    const response = await fetch(`${server.baseUrl}/channels/webhook/webhook`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
        "webhook-signature": new Webhook(secret).sign(id, at, body),
      },
      body,
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const said = (content: string, place = "room-1") => ({
    place,
    content,
    msg_metadata: { sender_id: "shop:42", sender_display_name: "Ash", sender_type: "human" },
  });
  const delivered = async (count: number) => {
    for (let tries = 0; received.length < count && tries < 400; tries++)
      await new Promise((resolve) => setTimeout(resolve, 25));
    return received;
  };

  it("brings a signed message in, once, and the answer out, signed, never back to where it came from", async () => {
    const first = await push("evt-1", said("  hello from the shop "));
    expect(first).toMatchObject({ status: 202, body: { admission: "run", duplicate: false } });
    expect((await push("evt-1", said("  hello from the shop "))).body).toMatchObject({ duplicate: true });
    const [row] = await server.messages("hooked");
    expect(row?.content).toBe("  hello from the shop ");
    expect((await server.outcome("hooked", first.body.message_id)).outcome).toBe("answered");
    const [answer] = await delivered(1);
    expect(answer?.data).toMatchObject({ place: "room-1", sender: "bot" });
    expect(received).toHaveLength(1);
  });

  it("mirrors what is said elsewhere, with the name of who said it", async () => {
    const before = received.length;
    await server.submit("hooked", "said on slack", { channel_external_id: "C1" });
    const [mirrored] = (await delivered(before + 2)).slice(before);
    expect(mirrored?.data.text).toContain("Olivia");
    expect(mirrored?.data.content).toBe("said on slack");
  });

  it("tries again in order while the platform fails, with the same key", async () => {
    const before = received.length;
    failNext = 2;
    await server.ask("POST", "/v1/chats/hooked/host", { content: "one" });
    await server.ask("POST", "/v1/chats/hooked/host", { content: "two" });
    const after = (await delivered(before + 2)).slice(before);
    expect(after.map(({ data }) => data.content)).toEqual(["one", "two"]);
    const { body } = await server.ask("GET", "/v1/outbox?state=sent&limit=500");
    const retried = (body.outbox as { id: string; attempts: number }[]).find(({ id }) => id === after[0]?.id);
    expect(retried?.attempts).toBe(3);
  });

  it("refuses what is not signed by us both, and stores nothing of it", async () => {
    const before = (await server.messages("hooked")).length;
    const forged = await push(
      "evt-2",
      said("forged"),
      `whsec_${Buffer.from("another secret entirely, thirty2").toString("base64")}`,
    );
    expect(forged.status).toBe(401);
    expect(await server.messages("hooked")).toHaveLength(before);
  });

  it("counts who knocked at an address of no chat, and keeps none of their words", async () => {
    expect((await push("evt-3", said("let me in", "room-9"))).status).toBe(200);
    expect((await push("evt-4", said("let me in!", "room-9"))).status).toBe(200);
    const { body } = await server.ask("GET", "/v1/addresses?state=unregistered");
    expect(body.addresses).toMatchObject([{ address: "webhook:room-9", name: "Ash", count: 2 }]);
    expect(JSON.stringify(body)).not.toContain("let me in");
  });
});
