import { expect, test } from "vitest";
import { OUTCOMES, type Outcome } from "../../../message/outcome.js";
import { deliveredTo, whyNot } from "./aside.js";

const became = (outcome: Outcome["outcome"], reason = ""): string | null =>
  whyNot({ message_id: "m", trace_id: "m", outcome, reason, turn_id: null, call_ids: [], deliveries: [] });

test("whatever was not answered says why, also without a reason of its own", () => {
  const fine = ["pending", "answered", "collected", "steered", "command"];
  for (const outcome of OUTCOMES) {
    if (fine.includes(outcome)) expect(became(outcome)).toBeNull();
    else expect(became(outcome)).toMatch(/^not answered: .{10}/);
  }
});

test("a reason is told in words of people; one that is not known is told as it is", () => {
  expect(became("ignored", "loop_guard")).toBe(
    "not answered: too many messages of bots came in a row, without a person's word between them",
  );
  expect(became("failed", "The model says: overloaded.")).toBe("not answered: The model says: overloaded.");
});

test("where a message went is named by channel, with the trouble of the ones that failed", () => {
  const sent = { channel: "slack", state: "sent", last_error: null } as const;
  const dead = { channel: "discord", state: "dead", last_error: "403" } as const;
  expect(deliveredTo([sent, dead])).toBe("Slack ✓, Discord given up (403)");
});
