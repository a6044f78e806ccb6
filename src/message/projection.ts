import { type AgentMessage, type LLMMessage, UserMessage } from "./message.js";

/** Above a summary, so that nobody takes it for something a person said. */
export const SUMMARY_LABEL = {
  compaction: "[Summary of the conversation so far]",
  branch: "[The conversation branched here. Summary of the other branch]",
} as const;

/**
 * Words of ours that the provider boundary writes into the user role where an API has no better place.
 * Whoever assembles text that is not ours escapes lines that start like one of them.
 */
export const HANDOFF_LABEL = {
  system: "[System message]",
  systemEnd: "[End of system message]",
  toolMedia: "[Attached to the result of the tool",
} as const;

/**
 * What a model may see of a message: the message itself, a user-role text in its place, or nothing.
 * Total over every role: a new role does not compile until its projection is decided here.
 */
export function project(message: AgentMessage): LLMMessage | null {
  switch (message.role) {
    case "system":
    case "user":
    case "tool":
      return message;
    case "assistant":
      return message.stopReason === "error" ? null : message;
    case "compaction_summary":
      return summary(message, SUMMARY_LABEL.compaction);
    case "branch_summary":
      return summary(message, SUMMARY_LABEL.branch);
    case "custom":
    case "host":
      return null;
    default:
      return undecided(message);
  }
}

function summary(message: Extract<AgentMessage, { role: `${string}_summary` }>, label: string): UserMessage {
  const text = message.contents.map((content) => content.content).join("\n");
  return UserMessage.text(`${label}\n${text}`, { id: message.id, timestamp: message.timestamp });
}

function undecided(message: never): never {
  throw new Error(`no projection is decided for ${JSON.stringify(message)}`);
}
