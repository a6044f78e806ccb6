// Any program is a channel: push a signed message in, take the signed answer out. Node's own crypto is enough.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const server = process.env.LONGHAND_URL ?? "http://127.0.0.1:7483";
const port = Number(new URL(process.env.LONGHAND_WEBHOOK_URL ?? "http://127.0.0.1:7484").port);
const secret = process.env.LONGHAND_WEBHOOK_SECRET ?? "";
const key = Buffer.from(secret.replace("whsec_", ""), "base64");

/** @param {string} id @param {string} seconds @param {string} body */
const sign = (id, seconds, body) =>
  `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`;

// Out: Longhand posts here. Check the signature over the raw body, drop an id you have seen, answer 2xx.
const seen = new Set();
const inbox = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  const id = String(request.headers["webhook-id"]);
  const right = Buffer.from(sign(id, String(request.headers["webhook-timestamp"]), body));
  const given = Buffer.from(String(request.headers["webhook-signature"]));
  const genuine = given.length === right.length && timingSafeEqual(given, right);
  response.writeHead(genuine ? 204 : 401).end();
  if (!genuine || seen.has(id)) return;
  seen.add(id);
  const { data } = JSON.parse(body);
  console.log(data.text);
  if (data.message_type === "assistant" && data.sender === "bot") inbox.close();
});
inbox.listen(port, "127.0.0.1");

// In: the place is yours to name; the chat it belongs to is registered as `webhook:<place>`.
const id = randomUUID();
const seconds = String(Math.floor(Date.now() / 1000));
const body = JSON.stringify({
  place: "kitchen",
  content: "is the bread done?",
  msg_metadata: { sender_id: "kitchen:olivia", sender_display_name: "Olivia", sender_type: "human" },
});
const answer = await fetch(`${server}/channels/webhook/webhook`, {
  method: "POST",
  headers: { "webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": sign(id, seconds, body) },
  body,
});
console.log(answer.status, await answer.text());
if (answer.status !== 202) inbox.close();
