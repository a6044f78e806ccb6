import { inboundCases } from "./contractInbound.js";
import { outboundCases } from "./contractOutbound.js";
import type { ChannelUnderTest, ContractCase } from "./contractCase.js";

export type {
  Acknowledgement,
  Attempt,
  ChannelUnderTest,
  ContractCase,
  Failure,
  FakePlatform,
  Said,
  Shown,
} from "./contractCase.js";

/**
 * What every channel must do, as cases any test runner can run. Bring the channel and a fake of its platform; what
 * neither of them has (threads, signatures, edits, …) is not asked for, and its case says so by `skipped`.
 *
 * @example
 * import { channelContract } from "longhand/channel/contract";
 * import { describe, test } from "vitest";
 * import { fakeMatrix } from "./fakeMatrix.js";
 * import { matrix } from "./matrix.js";
 *
 * async function make() {
 *   const platform = await fakeMatrix(); // a local server that plays the platform
 *   const channel = matrix({ url: platform.url, token: "a-secret" });
 *   platform.connect(channel); // pushes go to channel.webhook, or the channel dials in by itself
 *   return { channel, platform, address: "matrix:!room", secrets: ["a-secret"], dispose: () => platform.close() };
 * }
 *
 * describe("matrix", () => {
 *   for (const { name, run } of channelContract(make)) {
 *     test(name, async ({ skip }) => {
 *       const { skipped } = await run();
 *       if (skipped) skip(skipped);
 *     });
 *   }
 * });
 */
export function channelContract(make: () => Promise<ChannelUnderTest>): ContractCase[] {
  return [...inboundCases(make), ...outboundCases(make)];
}
