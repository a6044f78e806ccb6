import { useEffect, useMemo, useState } from "preact/hooks";
import { createClient } from "../../client/index.js";
import { Conversation } from "../conversation/Conversation.js";
import { Inspector } from "../inspector/Inspector.js";
import { onKey } from "../keys.js";
import { listen } from "../listening.js";
import { createNotebook, type Notebook } from "../notebook.js";
import { openChat } from "../reading.js";
import { chatInAddress } from "../route.js";
import type { State } from "../state.js";
import { readTree } from "../tree/branching.js";
import { Branches } from "./Branches.js";
import { Chats } from "./Chats.js";
import { Desk } from "./Desk.js";
import { Fork } from "./Fork.js";
import { Help } from "./Help.js";
import { People } from "./People.js";
import { Settings } from "./Settings.js";
import { Usage } from "./Usage.js";

/** The open notebook: chats, the conversation, and what the model saw. */
export function Book({ token, onRefused }: { token: string; onRefused: () => void }) {
  const notebook = useMemo(() => createNotebook(createClient({ token })), [token]);
  const state = useNotebook(notebook);

  useEffect(() => listen(notebook), [notebook]);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => onKey(notebook, event);
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [notebook]);
  useEffect(() => {
    const follow = (): void => {
      const jid = chatInAddress();
      if (jid !== null && jid !== notebook.state().open) void openChat(notebook, jid);
    };
    addEventListener("hashchange", follow);
    follow();
    return () => removeEventListener("hashchange", follow);
  }, [notebook]);

  const unread = state.tree === null;
  useEffect(() => {
    if (unread) void readTree(notebook);
  }, [notebook, state.open, unread]);

  // The first visit has no chat in its address: `home` is there from the start.
  const first = state.chats?.find((chat) => chat.jid === "home") ?? state.chats?.[0];
  useEffect(() => {
    if (state.open === null && state.leaf === null && first) void openChat(notebook, first.jid);
  }, [notebook, state.open, state.leaf, first]);
  useEffect(() => {
    if (state.link === "refused") onRefused();
  }, [state.link, onRefused]);

  const chat = state.chats?.find(({ jid }) => jid === state.open) ?? null;
  useEffect(() => {
    document.title = chat ? `${chat.name} · Longhand` : "Longhand";
  }, [chat]);

  const putAway = (): void => notebook.set({ sheet: null });

  return (
    <div class="book" data-view={state.view} data-inspecting={state.inspection !== null}>
      <Chats page={notebook} state={state} />
      {state.leaf === null && <Conversation page={notebook} state={state} chat={chat} />}
      {state.leaf === "desk" && <Desk page={notebook} state={state} />}
      {state.leaf === "usage" && <Usage page={notebook} state={state} />}
      {state.inspection && <Inspector page={notebook} state={state} inspection={state.inspection} />}
      {state.sheet === "help" && <Help onClose={putAway} />}
      {state.sheet === "settings" && chat && (
        <Settings page={notebook} chat={chat} models={state.models} onClose={putAway} />
      )}
      {state.sheet === "branches" && <Branches page={notebook} state={state} onClose={putAway} />}
      {state.sheet === "people" && <People page={notebook} state={state} onClose={putAway} />}
      {typeof state.sheet === "object" && state.sheet && (
        <Fork page={notebook} row={state.sheet.fork} onClose={putAway} />
      )}
    </div>
  );
}

function useNotebook(notebook: Notebook): State {
  const [state, setState] = useState(notebook.state());
  useEffect(() => {
    setState(notebook.state());
    return notebook.subscribe(setState);
  }, [notebook]);
  return state;
}
