import type { Chat } from "../../../message/index.js";
import type { Page, State } from "../state.js";
import { Branches } from "./Branches.js";
import { Fork } from "./Fork.js";
import { Help } from "./Help.js";
import { People } from "./People.js";
import { Settings } from "./Settings.js";

type Props = { page: Page; state: State; chat: Chat | null };

/** The sheet that lies over the notebook. */
export function Sheets({ page, state, chat }: Props) {
  const putAway = (): void => page.set({ sheet: null });
  const { sheet } = state;
  if (sheet === null) return null;
  if (typeof sheet === "object") return <Fork page={page} row={sheet.fork} onClose={putAway} />;
  switch (sheet) {
    case "help":
      return <Help onClose={putAway} />;
    case "settings":
      return chat && <Settings page={page} chat={chat} models={state.models} onClose={putAway} />;
    case "branches":
      return <Branches page={page} state={state} onClose={putAway} />;
    case "people":
      return <People page={page} state={state} onClose={putAway} />;
  }
}
