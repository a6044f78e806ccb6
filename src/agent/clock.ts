import type { Tool } from "./tool.js";

/** The built-in tool that tells the date and time. */
export const clock: Tool = {
  name: "clock",
  description: "Tells the current date and time. Give an IANA time zone, or leave it out for the chat's own.",
  parameters: {
    type: "object",
    properties: { time_zone: { type: "string", description: "such as Europe/Copenhagen" } },
    additionalProperties: false,
  },
  repeatable: true,
  async run(args, context) {
    const zone = typeof args.time_zone === "string" ? args.time_zone : context.time_zone;
    const now = new Date(context.now());
    try {
      const local = new Intl.DateTimeFormat("en-GB", {
        timeZone: zone,
        dateStyle: "full",
        timeStyle: "short",
      });
      return `${local.format(now)} (${zone})`;
    } catch {
      return { content: `"${zone}" is not a time zone; give one such as Europe/Copenhagen`, isError: true };
    }
  },
};
