import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../store/sqlite/driver.js";
import { ServerProcess, spoken } from "../../testing/serverProcess.js";

const KILLS = process.env.LONGHAND_LONG ? 200 : 20;
const SENDERS = 16;
const MESSAGES_A_LIFE = 100;

describe("a server that is killed again and again", () => {
  it("has every message it acknowledged, once each", async () => {
    const server = await ServerProcess.start();
    await server.ask("POST", "/v1/chats", { jid: "torture" });
    const acknowledged = new Map<string, number>();
    let number = 0;
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        const killed = new AbortController();
        const speak = async () => {
          while (!killed.signal.aborted) {
            const content = `message ${number++}`;
            // The platform tries again until it is told 2xx: every third message is sent twice.
            for (let tries = number % 3 === 0 ? 2 : 1; tries > 0; tries--) {
              const answer = await server
                .submit("torture", content, { external_message_id: content })
                .catch(() => null);
              if (answer?.status === 202) acknowledged.set(content, Number(answer.body.seq));
            }
          }
        };
        const senders = Array.from({ length: SENDERS }, speak);
        const enough = acknowledged.size + MESSAGES_A_LIFE + (kill % 7) * 3;
        while (acknowledged.size < enough) await new Promise((resolve) => setTimeout(resolve, 1));
        await server.down("SIGKILL");
        killed.abort();
        await Promise.all(senders);
        await server.up();
      }
      const rows = await server.messages("torture");
      const bySeq = new Map(rows.map((row) => [row.content, row.seq]));
      const lost = [...acknowledged].filter(([content, seq]) => bySeq.get(content) !== seq);
      expect(lost).toEqual([]);
      expect(bySeq.size).toBe(rows.length);
      expect(rows.map((row) => row.seq)).toEqual(rows.map((_, index) => index + 1));
      expect(acknowledged.size).toBeGreaterThan(1000);
      console.log(
        `${KILLS} kills, ${acknowledged.size} acknowledged messages, ${lost.length} lost, ${rows.length - bySeq.size} doubled`,
      );
    } finally {
      await server.dispose();
    }
  }, 300_000);

  it("answers what it had accepted, once, after it is up again", async () => {
    const server = await ServerProcess.start({ LONGHAND_DEMO_DELAY_MS: "10" });
    try {
      // Each in a turn of its own.
      await server.ask("PATCH", "/v1/chats/home", { while_busy: "queue" });
      const asked: string[] = [];
      for (let round = 0; round < 6; round++) {
        const { body } = await server.submit("home", `question ${round}`, {
          external_message_id: `q-${round}`,
        });
        asked.push(String(body.message_id));
        await new Promise((resolve) => setTimeout(resolve, 40 * round));
        await server.down("SIGKILL");
        await server.up();
      }
      for (const id of asked) expect((await server.outcome("home", id)).outcome).toBe("answered");
      const rows = await server.messages("home");
      const finals = rows.filter((row) => row.sender === "result_meta");
      expect(finals).toHaveLength(asked.length);
      expect(new Set(finals.map((row) => row.turn_id)).size).toBe(asked.length);
    } finally {
      await server.dispose();
    }
  }, 120_000);
});

describe("two servers on one folder", () => {
  it("are one too many: the second says so and ends", async () => {
    const server = await ServerProcess.start();
    await expect(server.another()).rejects.toThrow("Another server is running");
    expect((await server.ask("GET", "/healthz")).status).toBe(200);
    await server.dispose();
  });
});

describe("a server that cannot store", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.start();
    await server.ask("POST", "/v1/chats", { jid: "quiet" });
  });
  afterAll(() => server.dispose());

  it("says 503 while another program holds the database, and takes the message again afterwards", async () => {
    const other = openDatabase(server.database, { readOnly: false, busyMs: 1000 });
    other.exec("BEGIN EXCLUSIVE");
    const refused = await server.submit("quiet", "while locked", { external_message_id: "locked-1" });
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(refused.body).toMatchObject({ status: 503, detail: expect.any(String) });
    expect((await server.ask("GET", "/healthz")).status).toBe(200);
    other.exec("ROLLBACK");
    other.close();
    const accepted = await server.submit("quiet", "while locked", { external_message_id: "locked-1" });
    expect(accepted).toMatchObject({ status: 202, body: { duplicate: false, seq: 1 } });
  });

  it("says 503 while the disk is full, loses nothing it had accepted, and goes on when there is room", async (test) => {
    const disk = mkdtempSync(join(tmpdir(), "longhand-disk-"));
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=6m", "tmpfs", disk]);
    if (mounted.status !== 0)
      test.skip(`SKIPPED: no small disk can be mounted here (${String(mounted.stderr).trim()})`);
    writeFileSync(join(disk, "ballast"), Buffer.alloc(2 * 1024 * 1024));
    const small = await ServerProcess.start({}, disk);
    try {
      await small.ask("POST", "/v1/chats", { jid: "full" });
      const accepted: string[] = [];
      let refused = 0;
      for (let number = 0; refused < 3; number++) {
        const content = `${number} ${"x".repeat(20_000)}`;
        const { status, headers } = await small.submit("full", content, {
          external_message_id: `m${number}`,
        });
        if (status === 202) accepted.push(content);
        else {
          expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
          refused++;
        }
      }
      expect(accepted.length).toBeGreaterThan(20);
      expect((await small.messages("full")).map((row) => row.content)).toEqual(accepted);
      rmSync(join(disk, "ballast"));
      expect((await small.submit("full", "room again")).status).toBe(202);
      expect(await small.messages("full")).toHaveLength(accepted.length + 1);
    } finally {
      await small.down();
      spawnSync("umount", [disk]);
      rmSync(disk, { recursive: true, force: true });
    }
  });

  it("stores all of a message or nothing of it", async () => {
    const before = (await server.messages("quiet")).length;
    const bad = {
      content: "half",
      msg_metadata: spoken(),
      attachments: [{ name: "a.txt", mime_type: "text/plain" }],
    };
    expect((await server.ask("POST", "/v1/chats/quiet/submit", bad)).status).toBe(422);
    expect(await server.messages("quiet")).toHaveLength(before);
  });
});
