export * from "./audience.js";
export * from "./chat.js";
export * from "./compare.js";
export * from "./content.js";
export * from "./delivery.js";
export * from "./diff.js";
export * from "./erasure.js";
export * from "./event.js";
export * from "./id.js";
export * from "./ingest.js";
export * from "./legacy.js";
export { audioToBase64, imageToBase64, type MediaString, readMediaString, toBytes } from "./media.js";
export * from "./message.js";
export * from "./outcome.js";
export * from "./parse.js";
export * from "./person.js";
export { errorsOf, type FieldError, pathText } from "./problems.js";
export * from "./projection.js";
export * from "./receipt.js";
export * from "./replay.js";
export * from "./resultrow.js";
export {
  ATTACHMENT_STATES,
  AttachmentRow,
  MessageRow,
  type NewRow,
} from "./row.js";
export * from "./rows.js";
export type { From } from "./shape.js";
export * from "./sniff.js";
export * from "./text.js";
export * from "./listing.js";
export * from "./usage.js";
export * from "./why.js";
