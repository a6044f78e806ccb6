import type { SystemPart } from "../message/index.js";
import type { ModelRequest } from "./codec.js";
import { type FittedHistory, isBlank } from "./fitted.js";

/** The operator's words first, then what opens the chat, then notices: what changes most often stands last. */
export function systemPieces(system: ModelRequest["system"], history: FittedHistory): SystemPart[] {
  const given: SystemPart[] =
    typeof system === "string"
      ? [{ kind: "system", text: system, sources: [{ type: "prompt", id: "system" }] }]
      : (system ?? []);
  const leading = history.leading.map(({ text, from }): SystemPart => {
    return { kind: from.kind === "notice" ? "notice" : "system", text, sources: from.sources };
  });
  const all = [...given, ...leading].filter((part) => !isBlank(part.text));
  return [...all.filter((part) => part.kind === "system"), ...all.filter((part) => part.kind === "notice")];
}
