import { cpus } from "node:os";
import { assembly } from "./assembly.mjs";
import { decodeRow, toolArgumentsRow } from "./decode.mjs";
import { encodeNextRow, encodeRow } from "./encode.mjs";
import { groupCommit } from "./groupCommit.mjs";
import { ingest } from "./ingest.mjs";
import { longTalk } from "./longTalk.mjs";
import { isMet } from "./measure.mjs";
import { neighbours } from "./neighbours.mjs";
import { receiptCost } from "./receiptCost.mjs";
import { startUp } from "./startUp.mjs";
import { table } from "./table.mjs";
import { turnStart } from "./turnStart.mjs";
import { turnStartAcross } from "./turnStartAcross.mjs";

/**
 * `npm run bench`: every row. `npm run bench -- ingest`: that one. `--json`: for programs.
 * Figures of one run belong together; those of two machines, or of two days, do not.
 */

const ROWS = {
  ingest,
  "group-commit": groupCommit,
  assembly,
  "long-talk": longTalk,
  receipts: receiptCost,
  encode: encodeRow,
  "encode-next": encodeNextRow,
  decode: decodeRow,
  "tool-arguments": toolArgumentsRow,
  "turn-start": turnStart,
  "turn-start-across": turnStartAcross,
  neighbours,
  "start-up": startUp,
};

const words = process.argv.slice(2);
const json = words.includes("--json");
const wanted = words.filter((word) => word !== "--json");
const unknown = wanted.filter((word) => !Object.hasOwn(ROWS, word));
if (unknown.length > 0) {
  process.stderr.write(`There is no row "${unknown[0]}". Rows: ${Object.keys(ROWS).join(", ")}.\n`);
  process.exit(2);
}

const machine = { node: process.version, cpus: cpus().length, model: cpus()[0]?.model ?? "unknown" };
const lines = [];
for (const name of wanted.length > 0 ? wanted : Object.keys(ROWS)) {
  const before = performance.now();
  const measured = await ROWS[name]((step) => tell(`${name}: ${step}`));
  tell(`${name}: done in ${Math.round((performance.now() - before) / 1000)} s\n`);
  lines.push(...measured.map((line) => ({ row: name, ...line })));
}

if (json) {
  const results = lines.map((line) => ({ ...line, met: isMet(line) }));
  process.stdout.write(`${JSON.stringify({ machine, lines: results }, null, 2)}\n`);
} else {
  process.stdout.write(`\nNode ${machine.node}, ${machine.cpus} × ${machine.model}\n\n${table(lines)}\n`);
}

/** What is going on, on one line where a person looks on. @param {string} text */
function tell(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
  else process.stderr.write(`${text.trimEnd()}\n`);
}
