import { describe, expect, it } from "vitest";
import { readContainers } from "./containerSettings.js";

describe("an operator's containers", () => {
  it("are in a sandbox without network, and get no variable that is not named", () => {
    const value = { containers: { helper: { command: ["node", "/srv/a.mjs"], pass_env: ["KEY", "UNSET"] } } };
    expect(readContainers(value, { KEY: "k", OTHER: "o" })).toEqual({
      ok: true,
      containers: [
        {
          name: "helper",
          command: ["node", "/srv/a.mjs"],
          isolation: "bubblewrap",
          folder: null,
          writable: false,
          reads: [],
          network: false,
          env: { KEY: "k" },
          model: null,
        },
      ],
    });
  });

  it("say what is wrong with them, and where", () => {
    const wrong = (given: unknown) => {
      const read = readContainers({ containers: { helper: given } }, {});
      return read.ok ? [] : read.errors.map(({ path }) => path);
    };
    expect(wrong({})).toEqual(["containers.helper.command"]);
    expect(wrong({ command: [] })).toEqual([expect.stringContaining("command")]);
    expect(wrong({ command: ["a"], folder: "here" })).toEqual(["containers.helper.folder"]);
    expect(wrong({ command: ["a"], isolation: "hope" })).toEqual(["containers.helper.isolation"]);
    expect(wrong({ command: ["a"], netwrok: true })).not.toEqual([]);
    expect(readContainers({ containers: { "a b": { command: ["a"] } } }, {}).ok).toBe(false);
    expect(readContainers(null, {}).ok).toBe(false);
  });
});
