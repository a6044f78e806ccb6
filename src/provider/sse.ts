/** One server-sent event. */
export type SseEvent = { event: string; data: string };

/** Reads server-sent events from bytes that may be split anywhere, also inside a character or between CR and LF. */
export type SseReader = {
  push(bytes: Uint8Array): SseEvent[];
  /** The bytes ended. An event whose closing blank line never came is given too; whether it is whole, its reader sees. */
  end(): SseEvent[];
};

/** A reader for one stream. */
export function sseReader(): SseReader {
  const decoder = new TextDecoder();
  let unfinishedLine: string[] = [];
  let afterCarriageReturn = false;
  let name = "";
  let data: string[] = [];
  let found: SseEvent[] = [];

  /** A comment is a field without a name. */
  function takeField(line: string): void {
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const start = line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1;
    const value = colon === -1 ? "" : line.slice(start);
    if (field === "data") data.push(value);
    else if (field === "event") name = value;
  }

  function finishEvent(): void {
    if (data.length > 0) found.push({ event: name || "message", data: data.join("\n") });
    data = [];
    name = "";
  }

  function takeLine(line: string): void {
    if (line === "") finishEvent();
    else takeField(line);
  }

  /** Every line of a text that ends in it; the rest waits. Each line end is looked for once. */
  function takeText(text: string): void {
    if (text === "") return;
    let start = afterCarriageReturn && text.charCodeAt(0) === 10 ? 1 : 0;
    afterCarriageReturn = false;
    let lf = text.indexOf("\n", start);
    let cr = text.indexOf("\r", start);
    while (lf !== -1 || cr !== -1) {
      const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
      unfinishedLine.push(text.slice(start, end));
      const line = unfinishedLine.length === 1 ? (unfinishedLine[0] ?? "") : unfinishedLine.join("");
      unfinishedLine = [];
      takeLine(line);
      start = end + 1;
      if (end === cr) {
        if (lf === start) start++;
        afterCarriageReturn = start === text.length && lf !== start - 1;
        cr = text.indexOf("\r", start);
      }
      if (lf !== -1 && lf < start) lf = text.indexOf("\n", start);
    }
    if (start < text.length) unfinishedLine.push(text.slice(start));
  }

  function taken(): SseEvent[] {
    const events = found;
    found = [];
    return events;
  }

  return {
    push(bytes) {
      takeText(decoder.decode(bytes, { stream: true }));
      return taken();
    },
    end() {
      takeText(decoder.decode());
      if (unfinishedLine.length > 0) takeLine(unfinishedLine.join(""));
      unfinishedLine = [];
      finishEvent();
      return taken();
    },
  };
}
