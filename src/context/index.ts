export { assemble } from "./assemble.js";
export { composeAttributionPrefix, composeEditNote, composeThreadContextBlock } from "./attribution.js";
export {
  type AnsweredCall,
  type Assembled,
  type ContextChat,
  type ContextInput,
  Frozen,
  type Notice,
  type PathEntry,
} from "./context.js";
export { type Cut, chooseCut, standingIn, standingOf } from "./cut.js";
export { escapeMarkers, unescapeMarkers } from "./escape.js";
export { type Label, labelFor, neutraliseName } from "./labels.js";
export { type MaterialPiece, materialOf, stretchesOf } from "./material.js";
export { mentionToken } from "./mention.js";
export { noticeOf } from "./notice.js";
export { defaultPrompt } from "./prompt.js";
export { type BreakHints, blockId, firstBreak, sharedEntries } from "./receipt.js";
export { formatMessagesForSdk, type SdkOptions } from "./sdk.js";
export { buildSessionContext } from "./session.js";
export { type SummaryAsk, type SummaryKind, type SummaryRequest, summaryRequest } from "./summary.js";
export { type TakeInput, takeMessages } from "./take.js";
export { timeLine } from "./time.js";
export { estimateTokens, type Filled, filledTokens, pathTokens } from "./tokens.js";
export { frozenOf } from "./turn.js";
export { entitiesOf, matchTrigger, stripTrigger, type TriggerMatch, type TriggerOptions } from "./trigger.js";
