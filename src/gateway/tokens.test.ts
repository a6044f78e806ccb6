import { expect, test } from "vitest";
import { openMemory } from "../store/memory.js";
import { type Clock, systemClock } from "./clock.js";
import { Tokens } from "./tokens.js";

const OLIVIA = {
  id: "olivia",
  name: "Olivia",
  senders: ["web:olivia"],
  created_at: "2026-11-15T12:00:00.000Z",
};

/** Two servers on one store, and a clock that is set by hand. */
async function twoServers() {
  const store = openMemory();
  let now = 1_000_000;
  const clock: Clock = { ...systemClock, now: () => now };
  await store.commit({ facts: [{ type: "person", person: OLIVIA }] });
  const open = () => new Tokens(store, "owner", clock);
  return { store, one: open(), two: open(), open, pass: (ms: number) => (now += ms) };
}

test("a link opens at another server than the one that made it, also after a restart", async () => {
  const { one, two, open } = await twoServers();
  const entered = await two.login(await one.loginCode());
  expect(await one.identify(entered?.token ?? "")).toMatchObject({ name: "web page", scopes: ["admin"] });
  const personal = await open().login(await one.loginCode(OLIVIA));
  expect(personal?.opener).toEqual({ id: "olivia", name: "Olivia" });
  expect(await two.identify(personal?.token ?? "")).toMatchObject({ person_id: "olivia" });
});

test("a link opens once, however many try it at once, wherever", async () => {
  const { one, two, store } = await twoServers();
  const code = await one.loginCode();
  const entered = await Promise.all([one, two, one, two].map((server) => server.login(code)));
  expect(entered.filter((found) => found !== null)).toHaveLength(1);
  expect(await two.login(code)).toBeNull();
  expect(await store.read.tokens()).toHaveLength(1);
});

test("a link opens for a quarter of an hour, and old ones are not kept", async () => {
  const { one, two, store, pass } = await twoServers();
  const [late, never] = [await one.loginCode(), await one.loginCode()];
  pass(14 * 60_000);
  const inTime = await one.loginCode();
  pass(60_000);
  expect(await two.login(late)).toBeNull();
  expect(await two.login(inTime)).not.toBeNull();
  await one.loginCode();
  pass(-15 * 60_000);
  expect(await two.login(never)).toBeNull();
  expect(await store.read.tokens()).toHaveLength(1);
});

test("the code of a link is no token: nothing can be asked for with it", async () => {
  const { one, two } = await twoServers();
  const code = await one.loginCode();
  expect(await one.identify(code)).toBeNull();
  expect(await two.identify(code)).toBeNull();
  expect(await one.list()).toEqual([]);
});

test("the link of a person who was removed opens nothing", async () => {
  const { one, two, store } = await twoServers();
  const code = await one.loginCode(OLIVIA);
  await store.commit({ facts: [{ type: "person_removed", id: "olivia" }] });
  expect(await two.login(code)).toBeNull();
  expect(await store.read.tokens()).toEqual([]);
});
