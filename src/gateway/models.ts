import type { Model } from "../agent/index.js";
import type { Chat } from "../message/index.js";
import type { Hall } from "./hall.js";

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
