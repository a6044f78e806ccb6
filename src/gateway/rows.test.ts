import { describe, expect, it } from "vitest";
import { dedupeKey } from "./rows.js";

const said = (channel: string | null, external: string | null) =>
  dedupeKey({
    source: "slack",
    sender_id: "slack:U1",
    sender_display_name: "Ada",
    sender_type: "human",
    channel_external_id: channel,
    external_message_id: external,
  });
const LONG = "x".repeat(1000);

describe("telling a platform message that comes again", () => {
  it("knows it by place and id, however long they are", () => {
    expect(said("C1", "1")).toBe(said("C1", "1"));
    expect(said("C1", LONG)).toBe(said("C1", LONG));
    expect(said("C1", `${LONG}1`)).not.toBe(said("C1", `${LONG}2`));
  });

  it("takes no two for one, whatever the ids hold", () => {
    const keys = [
      said("C1", "1"),
      said("C2", "1"),
      said(null, "1"),
      said("null", "1"),
      said('C1","1', "1"),
      said("C1", '1","1'),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("keeps a long id short", () => {
    expect(said("C1", LONG)?.length).toBeLessThan(100);
  });

  it("keeps the platform's order, which lets the database write quickly", () => {
    const keys = ["1700000000.000100", "1700000001.000200", "1700000002.000050"].map((id) => said("C1", id));
    expect(keys.toSorted()).toEqual(keys);
  });

  it("cannot tell one that has no id", () => {
    expect(said("C1", null)).toBeNull();
  });
});
