import type { Chat } from "../../../message/index.js";
import type { Model } from "../../client/index.js";
import { session } from "../session.js";
import { type Page, serverModel } from "../state.js";
import { Models } from "./Models.js";
import { Sheet } from "./Sheet.js";
import { settingsCommand, settingsInWords } from "./settings.js";

type Props = { page: Page; chat: Chat; models: Model[]; onClose: () => void };

/** How this chat is set, to read. The model is changed here; the rest where the server is. */
export function Settings({ page, chat, models, onClose }: Props) {
  return (
    <Sheet title={`How ${chat.name} is set`} onClose={onClose}>
      <dl class="settings">
        {settingsInWords(chat, serverModel({ models })).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="verbatim">{value}</dd>
          </div>
        ))}
      </dl>
      {!session.speaker().isPerson && <Models page={page} chat={chat} models={models} />}
      <p class="hint">
        To change another of these, type where the server runs: <code>{settingsCommand(chat)}</code>
      </p>
    </Sheet>
  );
}
