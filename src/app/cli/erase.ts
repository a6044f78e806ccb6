import { createInterface } from "node:readline/promises";
import type { Erasure, Person } from "../../message/index.js";
import type { Connection } from "./connect.js";
import { CommandFailed, type Output } from "./output.js";
import { plain } from "./plain.js";

/** Erases a person, once whoever asks has said that they mean it. */
export async function erase(
  { client }: Connection,
  whom: string,
  out: Output,
  { yes }: { yes: boolean },
): Promise<void> {
  const { people } = await client.people();
  const person = people.find(({ id, senders }) => whom === `person:${id}` || senders.includes(whom));
  if (!yes) await meantIt(whom, person);
  const erasure = await client.eraseSender(whom);
  out.result(erasure, told(erasure));
}

async function meantIt(whom: string, person: Person | undefined): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandFailed(2, "Nobody can be asked here: say --yes to erase them.");
  const ids = (person?.senders ?? [whom]).map(plain).join(", ");
  process.stderr.write(
    `This erases ${person ? `${plain(person.name)} (${ids})` : ids} in every chat: what they said, what they are called, their files.\n` +
      "Nothing brings it back.\n",
  );
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asking.question(`To go on, type ${plain(whom)}: `);
  asking.close();
  if (answer.trim() !== whom) throw new CommandFailed(4, "Nothing was erased.");
}

function told({ messages, attachments, receipts, summaries, scrubbed }: Erasure): string {
  const lines = [
    `Erased: ${counted(messages, "message")}, ${counted(attachments, "file")}.`,
    `Redacted: ${counted(receipts, "receipt")}. No longer read: ${counted(summaries, "summary", "summaries")}.`,
  ];
  lines.push("What the assistant wrote stays, also where it quotes them: delete such answers one by one.");
  if (!scrubbed) lines.push("The disk still has traces: the server takes them away as soon as it can.");
  return lines.join("\n");
}

function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
