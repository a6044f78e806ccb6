import { useEffect, useRef, useState } from "preact/hooks";
import type { Chat } from "../../../message/index.js";
import { bytes } from "../figures.js";
import { session } from "../session.js";
import { type Attachment, say } from "../speaking.js";
import type { Page } from "../state.js";

/** Where one writes. What is typed is sent exactly as typed. */
export function Composer({ page, chat }: { page: Page; chat: Chat }) {
  const [text, setText] = useState(session.draft(chat.jid));
  const [files, setFiles] = useState<(Attachment & { size: number })[]>([]);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);

  useEffect(() => growWithText(field.current), [text]);

  // Whoever opens a chat with a keyboard at hand wants to write; on a phone it would only hide half the page.
  useEffect(() => {
    if (matchMedia("(min-width: 720px) and (pointer: fine)").matches)
      field.current?.focus({ preventScroll: true });
  }, []);

  const write = (words: string): void => {
    setText(words);
    session.keepDraft(chat.jid, words);
  };
  const attach = async (list: FileList | null | undefined): Promise<void> => {
    const read = await Promise.all([...(list ?? [])].map(readFile));
    setFiles((old) => [...old, ...read]);
  };
  const send = (): void => {
    if (text.trim() === "" && files.length === 0) return;
    const attachments = files.map(({ name, mime_type, data }) => ({ name, mime_type, data }));
    void say(page, text, attachments);
    write("");
    setFiles([]);
  };

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer?.files);
      }}
    >
      <You />
      {files.length > 0 && (
        <ul class="attachments">
          {files.map((file, index) => (
            <li key={index}>
              📎 <bdi class="name">{file.name}</bdi> <span class="source">· {bytes(file.size)}</span>
              <button
                class="quiet"
                type="button"
                aria-label={`Leave out ${file.name}`}
                onClick={() => setFiles((old) => old.filter((other) => other !== file))}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="paper">
        <textarea
          id="composer"
          ref={field}
          rows={1}
          aria-label={`Write in ${chat.name}`}
          placeholder={invitation(chat)}
          value={text}
          onInput={(event) => write(event.currentTarget.value)}
          onPaste={(event) => void attach(event.clipboardData?.files)}
          onKeyDown={(event) => {
            // Enter also ends a word in an input method; only a bare one sends.
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            void attach(event.currentTarget.files);
            event.currentTarget.value = "";
          }}
        />
        <button
          class="quiet"
          type="button"
          aria-label="Attach a file"
          title="Attach a file"
          onClick={() => picker.current?.click()}
        >
          📎
        </button>
        <button type="submit" disabled={text.trim() === "" && files.length === 0}>
          Send
        </button>
      </div>
    </form>
  );
}

/** Who is writing; the name can be changed where it stands. */
function You() {
  const speaker = session.speaker();
  const [name, setName] = useState(speaker.name);
  if (speaker.isPerson) return <span class="you">you are {speaker.name}</span>;
  const keep = (): void => {
    const given = name.trim() || "Me";
    setName(given);
    session.keepName(given);
  };
  return (
    <label class="you">
      you are{" "}
      <input
        aria-label="Your name"
        value={name}
        maxLength={80}
        size={Math.max(2, name.length)}
        spellcheck={false}
        onInput={(event) => setName(event.currentTarget.value)}
        onBlur={keep}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          event.currentTarget.blur();
        }}
      />
    </label>
  );
}

function invitation(chat: Chat): string {
  if (chat.trigger === "always") return `Write to ${chat.assistant_name}`;
  return `Begin with @${chat.assistant_name} for an answer`;
}

/** As tall as its text, up to a third of the window. */
function growWithText(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, innerHeight / 3)}px`;
}

async function readFile(file: File): Promise<Attachment & { size: number }> {
  const data = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
  // Also a type with parameters, such as text/plain;charset=utf-8, is one type for the server.
  const mime_type = (file.type.split(";")[0] ?? "").trim() || "application/octet-stream";
  return { name: file.name, mime_type, data, size: file.size };
}
