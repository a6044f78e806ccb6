import type { Chat } from "../../../message/index.js";
import { Sheet } from "./Sheet.js";
import { settingsCommand, settingsInWords } from "./settings.js";

type Props = { chat: Chat; serverModel: string | null; onClose: () => void };

/** How this chat is set, to read; it is changed where the server is. */
export function Settings({ chat, serverModel, onClose }: Props) {
  return (
    <Sheet title={`How ${chat.name} is set`} onClose={onClose}>
      <dl class="settings">
        {settingsInWords(chat, serverModel).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="verbatim">{value}</dd>
          </div>
        ))}
      </dl>
      <p class="hint">
        To change one, type where the server runs: <code>{settingsCommand(chat)}</code>
      </p>
      <p class="hint">
        The model also changes when you write <code>model</code> and its name in the chat.
      </p>
    </Sheet>
  );
}
