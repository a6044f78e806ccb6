import { useState } from "preact/hooks";

/** What somebody without a token sees. */
export function Door({ why, onToken }: { why: string | null; onToken: (token: string) => void }) {
  const [token, setToken] = useState("");
  return (
    <main class="door">
      <h1>Longhand</h1>
      {why && (
        <p class="trouble" role="alert">
          {why}
        </p>
      )}
      <p>This notebook is closed. Open it with the link that was printed when the server started:</p>
      <pre>longhand start</pre>
      <p>or ask for a new link:</p>
      <pre>longhand link</pre>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== "") onToken(token.trim());
        }}
      >
        <label for="token">
          or paste the token, which is in the file <code>data/token</code>:
        </label>
        <div class="field">
          <input
            id="token"
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
          <button type="submit" disabled={token.trim() === ""}>
            Open
          </button>
        </div>
      </form>
    </main>
  );
}
