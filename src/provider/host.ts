/** OpenAI's own servers, and Azure's in its place. */
export const OPENAI_HOST = /(^|\.)api\.openai\.com$|\.openai\.azure\.com$/;

/** The host of an address; empty where it is none, which no pattern of hosts fits. */
export function hostOf(baseUrl: string): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
}
