import type { InboundMessage, Received } from "../channel/channel.js";
import { StoreUnavailable } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { type IngestResult, submitChat } from "./ingest.js";

/** Takes in what a channel heard at an address, for the chat the address belongs to. */
export async function receive(hall: Hall, message: InboundMessage): Promise<Received> {
  try {
    const { address, ...body } = message;
    const chat = await hall.chats.byAddress(address);
    if (!chat) return await knock(hall, address, message);
    const binding = chat.bindings.find((bound) => bound.address === address);
    if (binding?.mode === "speak") return { status: "unregistered" };
    return received(await submitChat(hall, chat.jid, body, { address }));
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return { status: "unavailable", why: error.message, retryAfterS: 1 };
  }
}

/** Counted so that the operator can see who knocked; the words are not kept. */
async function knock(hall: Hall, address: string, message: InboundMessage): Promise<Received> {
  const channel = address.slice(0, address.indexOf(":"));
  const name = message.msg_metadata.sender_display_name;
  const at = iso(hall.clock.now());
  await hall.store.commit({ facts: [{ type: "knock", address, channel, name, at }] });
  return { status: "unregistered" };
}

function received(result: IngestResult): Received {
  switch (result.status) {
    case "stored":
      return { status: "stored", answer: result.answer };
    case "not_registered":
      return { status: "unregistered" };
    case "invalid":
      return { status: "invalid", errors: result.errors };
    case "too_large":
      return { status: "invalid", errors: [{ path: "content", reason: result.why }] };
    case "conflict":
      return { status: "invalid", errors: [{ path: "", reason: result.why }] };
  }
}
