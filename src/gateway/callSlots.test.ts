import { describe, expect, it } from "vitest";
import { CallSlots } from "./callSlots.js";

const never = new AbortController().signal;

/** Who is let in, in order; each holds the place until told to leave. */
function door(slots: CallSlots, model = "m") {
  const inside: { chat: string; leave: () => void }[] = [];
  const order: string[] = [];
  const come = (chat: string, signal: AbortSignal = never): Promise<void> =>
    slots.enter(model, chat, signal).then((leave) => {
      order.push(chat);
      inside.push({ chat, leave });
    });
  const leave = async () => {
    inside.shift()?.leave();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { come, leave, order, inside, settle };
}

describe("places for calls", () => {
  it("lets in so many at once and no more; who leaves lets the next in", async () => {
    const { come, leave, order, settle } = door(new CallSlots(2));
    for (const chat of ["a", "b", "c", "d"]) void come(chat);
    await settle();
    expect(order).toEqual(["a", "b"]);
    await leave();
    expect(order).toEqual(["a", "b", "c"]);
    await leave();
    expect(order).toEqual(["a", "b", "c", "d"]);
  });

  it("lets a chat with one question in before a chat's many others", async () => {
    const { come, leave, order, settle } = door(new CallSlots(1));
    for (const chat of ["busy", "busy", "busy", "busy", "quiet"]) void come(chat);
    await settle();
    for (let left = 0; left < 4; left++) await leave();
    expect(order).toEqual(["busy", "busy", "quiet", "busy", "busy"]);
  });

  it("also before those of two busy chats: everybody gets one place in each round", async () => {
    const { come, leave, order, settle } = door(new CallSlots(1));
    for (const chat of ["a", "a", "a", "b", "b", "b", "quiet"]) void come(chat);
    await settle();
    for (let left = 0; left < 6; left++) await leave();
    expect(order.indexOf("quiet")).toBeLessThanOrEqual(3);
    expect([...order].sort()).toEqual(["a", "a", "a", "b", "b", "b", "quiet"]);
  });

  it("does not let newcomers push a chat back for ever", async () => {
    const { come, leave, order, settle } = door(new CallSlots(1));
    for (const chat of ["a", "a", "a"]) void come(chat);
    await settle();
    for (let count = 0; count < 10; count++) {
      void come(`new ${count}`);
      await leave();
    }
    expect(order.filter((chat) => chat === "a")).toHaveLength(3);
  });

  it("a model that hangs holds up nobody who asks another", async () => {
    const slots = new CallSlots(1);
    const [hanging, other] = [door(slots, "hangs"), door(slots, "works")];
    await hanging.come("a");
    void hanging.come("b");
    await other.come("b");
    expect(hanging.order).toEqual(["a"]);
    expect(other.order).toEqual(["b"]);
  });

  it("who is stopped while waiting takes no place, and frees none that is not theirs", async () => {
    const { come, leave, order, inside } = door(new CallSlots(1));
    const stop = new AbortController();
    await come("a");
    const stopped = come("b", stop.signal);
    void come("c");
    stop.abort();
    await stopped;
    expect(order).toEqual(["a", "b"]);
    inside.splice(1, 1)[0]?.leave();
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual(["a", "b"]);
    await leave();
    expect(order).toEqual(["a", "b", "c"]);
  });

  it("leaving twice frees one place", async () => {
    const { come, order, inside, settle } = door(new CallSlots(1));
    for (const chat of ["a", "b", "c"]) void come(chat);
    await settle();
    inside[0]?.leave();
    inside[0]?.leave();
    await settle();
    expect(order).toEqual(["a", "b"]);
  });
});
