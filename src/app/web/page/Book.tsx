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
import { Chats } from "./Chats.js";
import { Desk } from "./Desk.js";
import { SheetsLater } from "./SheetsLater.js";
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

  return (
    <div class="book" data-view={state.view} data-inspecting={state.inspection !== null}>
      <Chats page={notebook} state={state} />
      {state.leaf === null && <Conversation page={notebook} state={state} chat={chat} />}
      {state.leaf === "desk" && <Desk page={notebook} state={state} />}
      {state.leaf === "usage" && <Usage page={notebook} state={state} />}
      {state.inspection && <Inspector page={notebook} state={state} inspection={state.inspection} />}
      <SheetsLater page={notebook} state={state} chat={chat} />
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
