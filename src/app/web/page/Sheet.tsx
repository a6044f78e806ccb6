import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

type Props = { title: string; wide?: boolean; onClose: () => void; children: ComponentChildren };

/** A sheet of paper laid over the notebook; Escape puts it away. */
export function Sheet({ title, wide = false, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="sheet" data-wide={wide} aria-labelledby="sheet-title" onClose={onClose}>
      <form class="top" method="dialog">
        <h2 id="sheet-title">{title}</h2>
        <button class="quiet" type="submit" aria-label="Close">
          ✕
        </button>
      </form>
      {children}
    </dialog>
  );
}
