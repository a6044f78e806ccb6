import type { Delivery } from "../../../message/index.js";
import { drop, retry } from "../desk.js";
import { counted, momentOf, surface, timeOf } from "../figures.js";
import { goTo, openChat } from "../reading.js";
import type { Page, State } from "../state.js";

/** The dead-letter desk: what was given up, why, and what can be done about it. */
export function Desk({ page, state }: { page: Page; state: State }) {
  return (
    <main class="conversation desk">
      <header class="title">
        <button class="quiet back" type="button" onClick={() => page.set({ view: "chats" })}>
          ‹ chats
        </button>
        <h2>Desk</h2>
      </header>
      <div class="letters">
        <p class="hint">
          {state.dead.length === 0
            ? "Nothing lies here: every message found its way."
            : "These could not be delivered, and nobody tries any more. Send each again, or let it go."}
        </p>
        {state.trouble && (
          <p class="trouble" role="alert">
            {state.trouble}
          </p>
        )}
        <ul>
          {state.dead.map((delivery) => (
            <Letter key={delivery.id} page={page} delivery={delivery} />
          ))}
        </ul>
      </div>
    </main>
  );
}

function Letter({ page, delivery }: { page: Page; delivery: Delivery }) {
  const look = async (): Promise<void> => {
    await openChat(page, delivery.chat_jid);
    await goTo(page, delivery.message_id);
  };
  return (
    <li>
      <p>
        to <strong>{surface(delivery.channel)}</strong> <code>{delivery.address}</code>
        <time dateTime={delivery.created_at} title={momentOf(delivery.created_at)}>
          {timeOf(delivery.created_at)}
        </time>
      </p>
      <p class="why">
        {delivery.last_error ?? delivery.reason ?? "No reason was given."} (
        {counted(delivery.attempts, "attempt")})
      </p>
      <p class="actions">
        <button type="button" onClick={() => retry(page, delivery.id)}>
          Send again
        </button>
        <button type="button" onClick={() => drop(page, delivery.id)}>
          Let it go
        </button>
        <button class="quiet" type="button" onClick={look}>
          Show the message
        </button>
      </p>
    </li>
  );
}
