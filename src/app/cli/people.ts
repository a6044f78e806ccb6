import type { Person } from "../../message/index.js";
import type { Connection } from "./connect.js";
import { CommandFailed, columns, type Output } from "./output.js";
import { plain } from "./plain.js";

export const PEOPLE_HELP = `Who is who: one human behind several sender ids

  longhand people                               all of them
  longhand people add <name> [sender ids…]      add one; --id chooses a short name for settings
  longhand people assign <id> <sender ids…>     these sender ids are theirs too
  longhand people unassign <id> <sender ids…>   these are not theirs any more
  longhand people link <id>                     a one-time link: whoever opens it speaks as them
  longhand people remove <id>                   forget who is who, and take their links back`;

/** Lists people, and says what is whose. */
export async function people(
  connection: Connection,
  [action = "list", first = "", ...rest]: readonly string[],
  out: Output,
  options: { id: string | undefined },
): Promise<void> {
  const { client, baseUrl } = connection;
  switch (action) {
    case "list":
      return list(await client.people(), out);
    case "add": {
      const { id } = options;
      const name = needed(first, "a name: longhand people add Olivia slack:U06STGBF4Q0");
      const added = await client.addPerson({ ...(id ? { id } : {}), name, senders: rest });
      return out.result(added, `Added ${line(added)}. In allow and read, write person:${added.id}`);
    }
    case "assign":
    case "unassign": {
      const known = await client.person(needed(first, "whose they are: longhand people assign olivia web:o"));
      needed(rest[0] ?? "", `sender ids: longhand people ${action} ${known.id} slack:U06STGBF4Q0`);
      const others = known.senders.filter((sender) => !rest.includes(sender));
      const senders = action === "assign" ? [...others, ...rest] : others;
      const changed = await client.changePerson(known.id, { senders });
      return out.result(changed, line(changed));
    }
    case "link": {
      const id = needed(first, "whose: longhand people link olivia");
      const url = `${baseUrl}/#code=${(await client.personalLink(id)).code}`;
      return out.result({ url }, url);
    }
    case "remove": {
      const id = needed(first, "whom: longhand people remove olivia");
      await client.removePerson(id);
      return out.result({ removed: id }, `Removed ${plain(id)}. What they said stays.`);
    }
    default:
      throw new CommandFailed(2, `There is no "people ${action}".\n${PEOPLE_HELP}`);
  }
}

function list({ people: all }: { people: Person[] }, out: Output): void {
  if (out.json) {
    for (const person of all) out.result(person, "");
    return;
  }
  const none = "Nobody yet: longhand people add Olivia slack:U06STGBF4Q0";
  out.line(
    all.length === 0
      ? none
      : columns(all.map(({ id, name, senders }) => [id, plain(name), senders.map(plain).join(" ")])),
  );
}

function line({ id, name, senders }: Person): string {
  return `${plain(name)} (${id}): ${senders.map(plain).join(" ")}`;
}

function needed(word: string, what: string): string {
  if (word === "") throw new CommandFailed(2, `Say ${what}`);
  return word;
}
