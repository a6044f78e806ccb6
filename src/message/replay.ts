import { z } from "zod";
import { CallEnvelope } from "./receipt.js";

/** What a model answered, as far as people read it. */
export const CallAnswer = z.object({
  text: z.string(),
  thinking: z.string(),
  /** Tools it asked for. */
  tool_calls: z.array(z.object({ name: z.string(), args: z.record(z.string(), z.unknown()) })),
});
export type CallAnswer = z.infer<typeof CallAnswer>;

/** A call, and what came of it. */
const AnsweredCall = z.object({
  call: CallEnvelope,
  /** Null where it is not kept: a replay's answer is told once, and a failed call may have none. */
  answer: CallAnswer.nullable(),
});

/** The same context for the same or another model, with both answers. Nothing of it is part of the chat. */
export const Replay = z.object({
  original: AnsweredCall,
  replay: AnsweredCall,
  context: z.object({
    /** Is it, byte for byte, what the original call was sent? With another model: would it have been, to the first one? */
    exact: z.boolean(),
    /** In which way it is not. */
    differences: z.array(z.string()),
  }),
  /** What a reader should know, in sentences: tools that were asked for and not run, for one. */
  notes: z.array(z.string()),
});
export type Replay = z.infer<typeof Replay>;
