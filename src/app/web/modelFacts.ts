import type { Model } from "../client/index.js";
import { roughly } from "./figures.js";

/** A model's window, its price and what it takes, as far as anybody said. */
export function factsOf(model: Model): string {
  const takes = (["images", "audio", "pdf", "tools", "thinking"] as const).filter((kind) => model[kind]);
  const facts = [
    model.window === null ? "window unknown" : `window ${roughly(model.window)}`,
    priceOf(model.price),
    takes.join(", "),
  ];
  return facts.filter(Boolean).join(" · ");
}

/** An unknown price is not nothing. */
function priceOf(price: Model["price"]): string {
  if (price === null) return "price unknown";
  if (price.input === 0 && price.output === 0 && price.above.length === 0) return "free";
  const above = price.above.map(
    ({ tokens, input, output }) => `, $${input} / $${output} above ${roughly(tokens)}`,
  );
  return `$${price.input} / $${price.output}${above.join("")}`;
}
