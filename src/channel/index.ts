export { addressOf, placeOf } from "./address.js";
export * from "./channel.js";
export { failureOfStatus, failureOfThrown, retryAfterMs } from "./failure.js";
export { calmMassMentions, type Mention, translateMentions } from "./mention.js";
export { type OutgoingOptions, outgoingText, sourceLabel, tracesShown } from "./present.js";
export { splitText } from "./split.js";
