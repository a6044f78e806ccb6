import { expect, test } from "vitest";
import {
  AssistantMessage,
  BranchSummaryMessage,
  CompactionSummaryMessage,
  CustomMessage,
  HostMessage,
  project,
  STOP_REASONS,
  SUMMARY_LABEL,
  SystemMessage,
  TextContent,
  ToolMessage,
  ToolResultContent,
  Usage,
  UserMessage,
} from "./index.js";

const at = { id: "i", timestamp: 1 };

test("what people, operators and tools said goes to the model as it is", () => {
  const messages = [
    UserMessage.text("hi", at),
    SystemMessage.text("be kind", at),
    ToolMessage.fromResult(ToolResultContent.of("t", "42"), at),
  ];
  for (const message of messages) expect(project(message)).toBe(message);
});

test("a host message and a custom note never go to a model", () => {
  expect(project(HostMessage.text("restarted"))).toBeNull();
  expect(project(CustomMessage.of("poll", [TextContent.of("secret")]))).toBeNull();
});

test("an answer goes to the model however it stopped, unless it failed", () => {
  for (const stopReason of STOP_REASONS) {
    const answer = AssistantMessage.of([TextContent.of("so")], {
      usage: Usage.none(),
      stopReason,
      provider: "p",
      api: "a",
      model: "m",
    });
    expect(project(answer)).toBe(stopReason === "error" ? null : answer);
  }
});

test("a summary goes to the model as labelled user text, in its own place", () => {
  expect(project(CompactionSummaryMessage.text("They talked of boats.", at))).toEqual(
    UserMessage.text(`${SUMMARY_LABEL.compaction}\nThey talked of boats.`, at),
  );
  expect(project(BranchSummaryMessage.text("A detour.", at))).toEqual(
    UserMessage.text(`${SUMMARY_LABEL.branch}\nA detour.`, at),
  );
  expect(SUMMARY_LABEL.branch).toContain("branched here");
});

test("a role nobody decided about is a bug, not a guess", () => {
  const stranger = JSON.parse('{"role":"oracle","contents":[]}');
  expect(() => project(stranger)).toThrow("oracle");
});
