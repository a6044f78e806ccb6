export type {
  ContextPreview,
  HeadMoved,
  KnownAddress,
  Model,
  Page,
  PartialPart,
  Revision,
  StreamEvent,
  Submission,
  Token,
  TreeEntry,
} from "./answer.js";
export { type Client, createClient, type MessagesQuery } from "./client.js";
export type { CursoredEvent, EventsOptions } from "./events.js";
export { ApiProblem, type FieldProblem } from "./problem.js";
export type { ClientOptions } from "./request.js";
