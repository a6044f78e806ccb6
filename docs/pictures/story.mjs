const OLIVIA = { sender_id: "slack:U06STGBF4Q0", sender_display_name: "Olivia", source: "slack" };
const ASH = { sender_id: "whatsapp:4512345678", sender_display_name: "Ash", source: "whatsapp" };
const SAM = { sender_id: "discord:80351110224678912", sender_display_name: "Sam", source: "discord" };

/** Says everything the pictures show. */
export async function tellStory({ ask }) {
  let said = 0;
  const say = async (jid, who, content) => {
    const msg_metadata = { ...who, sender_type: "human", external_message_id: `m${said++}` };
    const { message_id } = await ask("POST", `/v1/chats/${jid}/submit`, { content, msg_metadata });
    for (;;) {
      const { outcome } = await ask("GET", `/v1/chats/${jid}/messages/${message_id}/outcome`);
      if (outcome !== "pending") return message_id;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  };
  await ask("POST", "/v1/people", { name: "Olivia", senders: [OLIVIA.sender_id, "web:olivia-phone"] });

  // Sam is not read in this chat, so the model never saw how many they are.
  const read = [OLIVIA.sender_id, ASH.sender_id];
  await ask("POST", "/v1/chats", { jid: "dinner", name: "Friday dinner", trigger: "mention", read });
  await say("dinner", OLIVIA, "Friday at Lotta's? We are four: you, me, Ash's sister and her husband.");
  await say("dinner", ASH, "Yes! 19:00 suits us.");
  await say("dinner", SAM, "I'm coming too, so we are five.");
  await ask("POST", "/v1/chats/dinner/host", { content: "Discord was away for two minutes." });
  await say("dinner", OLIVIA, "@Longhand book a table for all of us, please");

  // A weekend that took two ways, then was compacted.
  await ask("POST", "/v1/chats", { jid: "lake", name: "the lake", trigger: "always" });
  await say("lake", OLIVIA, "Which train do we take on Saturday?");
  await say("lake", ASH, "And is there a cabin with a stove?");
  const cabin = (await ask("GET", "/v1/chats/lake/messages?limit=100")).messages.at(-2);
  await say("lake", OLIVIA, "Lovely. So what should we eat on the first evening?");
  await ask("POST", "/v1/chats/lake/fork", { from: cabin.id });
  const warm = await say("lake", ASH, "Let's cook something warm on the stove instead");
  await ask("PATCH", `/v1/chats/lake/messages/${warm}`, {
    content: "Let's cook something warm and filling on the stove instead",
  });
  await ask("POST", "/v1/chats", { jid: "long", name: "the long one", trigger: "always" });
  for (const words of [
    "Which train do we take?",
    "And the cabin?",
    "I bring the tent poles.",
    "Who has a kettle?",
  ])
    await say("long", ASH, words);
  await ask("POST", "/v1/chats/long/compact", {});
  await ask("PATCH", "/v1/chats/long", { system_prompt: "You plan weekends. Be brief." });
  await say("long", OLIVIA, "And what should we eat?");
}
