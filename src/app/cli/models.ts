import type { ListedPrice, ModelListing } from "../../message/index.js";
import type { Connection } from "./connect.js";
import { columns, type Output } from "./output.js";
import { plain } from "./plain.js";

/** What can be used now, and what is missing for the rest. */
export async function models({ client }: Connection, out: Output): Promise<void> {
  const { models: listed } = await client.models();
  if (out.json) {
    for (const model of listed) out.result(model, "");
    return;
  }
  const usable = listed.filter(({ available }) => available);
  out.line(columns([["model", "window", "$ per million in / out", "takes", ""], ...usable.map(rowOf)]));
  const missing = listed.filter(({ available }) => !available);
  if (missing.length === 0) return;
  out.line("\nNot set up:");
  out.line(columns(missing.map(({ name, note }) => [`  ${plain(name)}`, plain(note ?? "")])));
}

function rowOf(model: ModelListing): string[] {
  const why = model.note === null ? "" : plain(model.note);
  return [
    plain(model.name),
    model.window === null ? "?" : sizeOf(model.window),
    priceOf(model.price),
    takes(model),
    model.default ? `the default: ${why}` : why,
  ];
}

function sizeOf(tokens: number): string {
  if (tokens >= 1_000_000) return `${Math.round(tokens / 100_000) / 10}M`;
  return tokens >= 1000 ? `${Math.round(tokens / 1000)}k` : String(tokens);
}

/** An unknown price is not nothing. */
function priceOf(price: ListedPrice | null): string {
  if (price === null) return "price unknown";
  if (price.input === 0 && price.output === 0 && price.above.length === 0) return "free";
  const longer = price.above.map(
    ({ tokens, input, output }) => `, ${input} / ${output} above ${sizeOf(tokens)}`,
  );
  return `${price.input} / ${price.output}${longer.join("")}`;
}

function takes({ images, audio, pdf, tools, thinking }: ModelListing): string {
  const known = { images, audio, pdf, tools, thinking };
  const words = Object.entries(known).filter(([, taken]) => taken === true);
  if (Object.values(known).every((taken) => taken === null)) return "?";
  return words.map(([word]) => word).join(", ") || "text";
}
