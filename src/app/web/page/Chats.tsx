import { useState } from "preact/hooks";
import { begin, register } from "../desk.js";
import { counted, momentOf, number } from "../figures.js";
import { openChat } from "../reading.js";
import { session } from "../session.js";
import type { Page, State } from "../state.js";

/** The left-hand column: every chat, who knocked, and what could not be delivered. */
export function Chats({ page, state }: { page: Page; state: State }) {
  const operates = !session.speaker().isPerson;
  return (
    <nav class="chats" aria-label="Chats">
      <header>
        <h1>Longhand</h1>
        <button
          class="quiet"
          type="button"
          aria-label="Help"
          title="Help (?)"
          onClick={() => page.set({ sheet: "help" })}
        >
          ?
        </button>
      </header>
      <div class="shelf">
        <h2>chats</h2>
        {state.chats === null ? <p class="hint">{hint(state)}</p> : <List page={page} state={state} />}
        {operates && <NewChat page={page} />}
        {operates && state.addresses.length > 0 && <Knocked page={page} state={state} />}
      </div>
      <button
        class="desk-link"
        type="button"
        aria-current={state.leaf === "usage" ? "page" : undefined}
        onClick={() => turnTo(page, "usage")}
      >
        usage
      </button>
      {operates && (
        <button class="desk-link" type="button" onClick={() => page.set({ sheet: "people" })}>
          people
        </button>
      )}
      {operates && state.dead.length > 0 && (
        <button
          class="desk-link"
          type="button"
          aria-current={state.leaf === "desk" ? "page" : undefined}
          onClick={() => turnTo(page, "desk")}
        >
          desk{" "}
          <span class="count" title={`${counted(state.dead.length, "delivery", "deliveries")} given up`}>
            {number(state.dead.length)}
          </span>
        </button>
      )}
    </nav>
  );
}

function turnTo(page: Page, leaf: "desk" | "usage"): void {
  page.set({ leaf, open: null, inspection: null, view: "conversation" });
}

function hint(state: State): string {
  return state.link === "lost" ? "The server cannot be reached. Trying again." : "Opening…";
}

function List({ page, state }: { page: Page; state: State }) {
  const chats = state.chats ?? [];
  if (chats.length === 0) return <p class="hint">There is no chat yet. Begin one below.</p>;
  return (
    <ul>
      {chats.map((chat) => {
        const unread = state.unread[chat.jid] ?? 0;
        return (
          <li key={chat.jid}>
            <button
              type="button"
              aria-current={chat.jid === state.open ? "page" : undefined}
              data-busy={(state.live[chat.jid]?.turns.length ?? 0) > 0}
              onClick={() => openChat(page, chat.jid)}
            >
              <bdi class="name">{chat.name}</bdi>
              {unread > 0 && (
                <span class="count" title={counted(unread, "new message")}>
                  {number(unread)}
                </span>
              )}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

function NewChat({ page }: { page: Page }) {
  const [name, setName] = useState<string | null>(null);
  if (name === null) {
    return (
      <button class="quiet new" type="button" onClick={() => setName("")}>
        + begin a chat
      </button>
    );
  }
  return (
    <form
      class="field new"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() === "") return;
        setName(null);
        void begin(page, name);
      }}
    >
      <input
        aria-label="Name of the new chat"
        placeholder="its name"
        value={name}
        ref={(input) => input?.focus()}
        onInput={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && setName(null)}
        onBlur={() => name === "" && setName(null)}
      />
    </form>
  );
}

function Knocked({ page, state }: { page: Page; state: State }) {
  return (
    <>
      <h2 title="They spoke to us, and belong to no chat. Their words are not kept.">unregistered</h2>
      <ul class="knocked">
        {state.addresses.map((address) => (
          <li
            key={address.address}
            title={`${counted(address.count, "time")}, last on ${momentOf(address.last_seen)}`}
          >
            <span class="who">
              <bdi class="name">{address.name || address.address}</bdi>
              {address.name && <span class="address">{address.address}</span>}
            </span>
            <button
              type="button"
              aria-label={`Register ${address.address}`}
              onClick={() => register(page, address)}
            >
              Register
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
