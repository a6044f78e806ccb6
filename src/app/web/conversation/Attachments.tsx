import type { AttachmentRow } from "../../../message/row.js";
import { bytes } from "../figures.js";

/** What came with a message, and whether the model could have it. */
export function Attachments({ attachments }: { attachments: readonly AttachmentRow[] }) {
  if (attachments.length === 0) return null;
  return (
    <ul class="attachments">
      {attachments.map((attachment, index) => (
        <li key={index} data-state={attachment.state}>
          <span aria-hidden="true">📎</span> <bdi class="name">{attachment.name}</bdi>
          <span class="source">
            {" "}
            · {attachment.mime_type} · {bytes(attachment.size)}
            {attachment.state === "transcribed" && " · transcribed"}
            {attachment.state === "unavailable" &&
              ` · unavailable: ${attachment.reason ?? "no reason given"}`}
          </span>
          {attachment.transcript !== undefined && (
            <details>
              <summary>What was heard</summary>
              <bdi class="transcript">{attachment.transcript}</bdi>
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}
