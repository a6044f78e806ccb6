export { addressOf, placeOf } from "./address.js";
export * from "./channel.js";
export { failureOfStatus, failureOfThrown, retryAfterMs } from "./failure.js";
export { splitText } from "./split.js";
