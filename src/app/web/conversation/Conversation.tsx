import { useState } from "preact/hooks";
import type { Chat } from "../../../message/index.js";
import { inspectNow } from "../inspecting.js";
import { QUIET } from "../live.js";
import { earlier, goToEnd, later } from "../reading.js";
import { stopTurn } from "../speaking.js";
import { type Page, type State, serverModel } from "../state.js";
import { Composer } from "./Composer.js";
import { Scroll } from "./Scroll.js";
import { Found, SearchField } from "./Search.js";
import { Transcript } from "./Transcript.js";

/** The page in the middle: who said what, in order. */
export function Conversation({ page, state, chat }: { page: Page; state: State; chat: Chat | null }) {
  const [atEnd, setAtEnd] = useState(true);
  const reading = state.transcript !== null && state.transcript.rows.length > 0;
  return (
    <main class="conversation">
      <Title page={page} state={state} chat={chat} />
      {state.search && <Found page={page} given={state.search} />}
      <Scroll
        key={state.open}
        goal={state.goal}
        label={chat ? `Conversation in ${chat.name}` : "Conversation"}
        busy={state.transcript === null}
        onTop={() => void earlier(page)}
        onBottom={() => void later(page)}
        onEnd={setAtEnd}
      >
        {reading && <Beginning state={state} />}
        <Transcript page={page} state={state} chat={chat} />
        <Blank page={page} state={state} chat={chat} />
      </Scroll>
      <Tail page={page} state={state} chat={chat} atEnd={atEnd} />
      {chat && <Composer key={`${chat.jid} ${state.redrafts}`} page={page} chat={chat} />}
    </main>
  );
}

function Title({ page, state, chat }: { page: Page; state: State; chat: Chat | null }) {
  const model = chat?.model ?? serverModel(state);
  return (
    <header class="title">
      <button class="quiet back" type="button" onClick={() => page.set({ view: "chats" })}>
        ‹ chats
      </button>
      <h2>
        <bdi>{chat?.name ?? state.open ?? ""}</bdi>
      </h2>
      {model && (
        <span class="model" title={`${chat?.assistant_name ?? "The assistant"} answers with this model`}>
          {model}
        </span>
      )}
      {state.search ? (
        <SearchField page={page} words={state.search.words} />
      ) : (
        <>
          <button
            class="quiet"
            type="button"
            title="What would the model see now? (n)"
            onClick={() => void inspectNow(page)}
          >
            <span class="in-full">what would it see now?</span>
            <span class="in-short">preview</span>
          </button>
          <Open
            page={page}
            title="Where the conversation forked, and how to go back (b)"
            to={{ sheet: "branches" }}
          >
            branches
          </Open>
          {chat && (
            <Open page={page} title="How this chat is set" to={{ sheet: "settings" }}>
              settings
            </Open>
          )}
          <Open page={page} title="Search (/)" to={{ search: { words: "", found: null, trouble: null } }}>
            search
          </Open>
        </>
      )}
    </header>
  );
}

type OpenProps = { page: Page; title: string; to: Partial<State>; children: string };

function Open({ page, title, to, children }: OpenProps) {
  return (
    <button class="quiet" type="button" title={title} onClick={() => page.set(to)}>
      {children}
    </button>
  );
}

function Beginning({ state }: { state: State }) {
  return <p class="beginning">{state.transcript?.atStart ? "here it begins" : "reading further back…"}</p>;
}

/** What stands on a page without messages. */
function Blank({ page, state, chat }: { page: Page; state: State; chat: Chat | null }) {
  if (state.transcript === null) {
    if (state.trouble) {
      return (
        <div class="blank">
          <p>This chat could not be opened.</p>
          <Trouble page={page} state={state} />
        </div>
      );
    }
    return (
      <p class="blank">{state.open === null && state.chats !== null ? "No chat is open." : "Opening…"}</p>
    );
  }
  if (state.transcript.rows.length > 0 || state.outgoing.length > 0) return null;
  return (
    <div class="blank">
      <p>Nothing has been said here yet.</p>
      <p>
        {chat?.trigger === "always"
          ? `Write below; ${chat.assistant_name} answers everything.`
          : `Write below; ${chat?.assistant_name ?? "the assistant"} answers when a message begins with @${chat?.assistant_name ?? "its name"}.`}
      </p>
    </div>
  );
}

/** The line above the composer. It is always there, so that nothing moves when it has something to say. */
function Tail({ page, state, chat, atEnd }: { page: Page; state: State; chat: Chat | null; atEnd: boolean }) {
  const { turns } = (state.open !== null && state.live[state.open]) || QUIET;
  const behind = state.transcript !== null && (!atEnd || !state.transcript.atEnd);
  return (
    <div class="tail" role="status">
      {state.transcript && <Trouble page={page} state={state} />}
      {turns.length > 0 && (
        <span class="working">
          {chat?.assistant_name ?? "The assistant"} is writing…{" "}
          <button class="quiet" type="button" onClick={() => void stopTurn(page)}>
            stop
          </button>
        </span>
      )}
      {state.remark && <span class={state.remark.failed ? "trouble" : "working"}>{state.remark.text}</span>}
      {behind && (
        <button class="quiet end" type="button" onClick={() => void goToEnd(page)}>
          to the end ↓
        </button>
      )}
    </div>
  );
}

function Trouble({ page, state }: { page: Page; state: State }) {
  if (state.link === "lost") {
    return (
      <span class="trouble">
        Connection lost; trying again. What stands here is stored, nothing is missing above.
      </span>
    );
  }
  if (state.trouble === null) return null;
  return (
    <span class="trouble">
      {state.trouble}{" "}
      <button class="quiet" type="button" onClick={() => void goToEnd(page)}>
        try again
      </button>
    </span>
  );
}
