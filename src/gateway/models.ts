import type { Model } from "../agent/index.js";
import type { CallEnvelope, Chat } from "../message/index.js";
import type { FoundModel, Hall } from "./hall.js";

/** Who answers in a chat: its own model, and the one to turn to when that fails. */
export type ChatModels = { ok: true; model: Model; fallback: Model | null } | { ok: false; why: string };

/** The chat's own model and its fallback; where the own one cannot be used, the fallback takes its place. */
export async function modelsOf(hall: Hall, chat: Chat): Promise<ChatModels> {
  const own = await hall.resolveModel(chat.model ?? hall.defaultModel);
  const fallback = await fallbackOf(hall, chat);
  if (own.ok) return { ok: true, model: own.model, fallback };
  if (!fallback) return own;
  hall.log("warn", "model.unusable", { chat: chat.jid, why: own.why });
  return { ok: true, model: fallback, fallback: null };
}

/** A fallback that cannot be used is no reason not to try the chat's own model. */
async function fallbackOf(hall: Hall, { fallback_model }: Chat): Promise<Model | null> {
  const found = fallback_model === null ? null : await hall.resolveModel(fallback_model);
  return found?.ok && found.model.api !== "container" ? found.model : null;
}

/** The model of a past call, by whichever name it is found here; else why it cannot be used now. */
export async function modelOfCall(hall: Hall, call: CallEnvelope): Promise<FoundModel> {
  const chat = await hall.chats.byJid(call.chat_jid);
  const itself = `${call.provider}/${call.model}`;
  const names = [chat?.model, chat?.fallback_model, hall.defaultModel, itself];
  for (const name of new Set(names)) {
    const found = name ? await hall.resolveModel(name) : null;
    if (!found?.ok) continue;
    const { provider, id, api } = found.model;
    if (provider === call.provider && id === call.model && api === call.api) return found;
  }
  const found = await hall.resolveModel(itself);
  return found.ok
    ? { ok: false, why: `${itself} is another model here by now; name the one you mean` }
    : found;
}
