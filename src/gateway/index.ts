export { HostMessageBroadcaster, UserMessageHandler } from "./broadcast.js";
export type { ChatResult } from "./chats.js";
export { type Clock, systemClock } from "./clock.js";
export { compareCursors, type EventHub, isCursor, type StreamEvent } from "./events.js";
export { createGateway, DEFAULT_LIMITS, type Gateway, type GatewayOptions } from "./gateway.js";
export type { FoundModel, GatewayLimits, Log, NoticeSource } from "./hall.js";
export type { IngestOptions, IngestResult } from "./ingest.js";
export type { Preview, PreviewResult } from "./preview.js";
