import { wireToolName } from "./toolCallId.js";

/** This API wants a name to begin with a letter or an underscore; one that does not is told apart by a digest. */
export function geminiToolName(name: string): string {
  const wireName = wireToolName(name);
  return /^[a-zA-Z_]/.test(wireName) ? wireName : wireToolName(`tool ${wireName}`);
}
