import { iso } from "./clock.js";
import type { Hall } from "./hall.js";

/** Puts an extension's own note on the tree; no model sees it. Its id, or null when there is no such chat. */
export async function postCustom(
  hall: Hall,
  jid: string,
  customType: string,
  content: string,
): Promise<string | null> {
  const { clock, store, chats } = hall;
  if (!(await chats.byJid(jid))) return null;
  for (;;) {
    const parent = await store.read.head(jid, "");
    const at = iso(clock.now());
    const id = clock.newId();
    const entry = {
      id,
      chat_jid: jid,
      thread_id: "",
      parent,
      kind: "custom",
      message_id: null,
      turn_id: null,
      at,
      data: { custom_type: customType, content },
    } as const;
    const result = await store.commit({
      expect: [{ type: "head", chat_jid: jid, thread_id: "", entry_id: parent }],
      facts: [
        { type: "entry", entry },
        { type: "head", chat_jid: jid, thread_id: "", entry_id: id, reason: "custom", at },
      ],
    });
    if (result.status === "committed") return id;
  }
}
