import type { Person } from "../../message/index.js";
import type { Connection } from "./connect.js";
import { CommandFailed, columns, type Output } from "./output.js";
import { plain } from "./plain.js";
import { isLoopback } from "./settings.js";

export const PEOPLE_HELP = `  longhand people                               all of them
  longhand people add <name> [sender ids…]      add one; --id chooses a short name for settings
  longhand people assign <id> <sender ids…>     these sender ids are theirs too
  longhand people unassign <id> <sender ids…>   these are not theirs any more
  longhand people link <id>                     a link that works once, for a quarter of an hour: whoever opens it speaks as them
  longhand people remove <id>                   forget who is who, and take their links back

Instead of the id, the name will do where only one person has it.`;

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
      const known = await found(client, needed(first, "whose they are: longhand people assign olivia web:o"));
      needed(rest[0] ?? "", `sender ids: longhand people ${action} ${known.id} slack:U06STGBF4Q0`);
      const others = known.senders.filter((sender) => !rest.includes(sender));
      const senders = action === "assign" ? [...others, ...rest] : others;
      const changed = await client.changePerson(known.id, { senders });
      return out.result(changed, line(changed));
    }
    case "link": {
      const { id } = await found(client, needed(first, "whose: longhand people link olivia"));
      const url = `${baseUrl}/#code=${(await client.personalLink(id)).code}`;
      out.result({ url }, url);
      // Beside the link, not in it: a program that reads the link reads only that.
      if (!out.json) process.stderr.write(`${aboutLink(baseUrl)}\n`);
      return;
    }
    case "remove": {
      const { id } = await found(client, needed(first, "whom: longhand people remove olivia"));
      await client.removePerson(id);
      return out.result({ removed: id }, `Removed ${plain(id)}. What they said stays.`);
    }
    default:
      throw new CommandFailed(2, `There is no "people ${action}".\n${PEOPLE_HELP}`);
  }
}

/** The person with this id, or the only one of this name. */
async function found(client: Connection["client"], word: string): Promise<Person> {
  const { people: all } = await client.people();
  const named = all.filter(({ name }) => name.toLowerCase() === word.toLowerCase());
  const person = all.find(({ id }) => id === word) ?? (named.length === 1 ? named[0] : undefined);
  if (person) return person;
  const why =
    named.length > 1
      ? `${plain(word)} is the name of ${named.map(({ id }) => id).join(" and ")}: say which`
      : `There is no such person: ${plain(word)}`;
  throw new CommandFailed(4, `${why}. All there are: longhand people`);
}

function aboutLink(baseUrl: string): string {
  const once = "It works once, for a quarter of an hour.";
  const { hostname } = new URL(baseUrl);
  if (!isLoopback(hostname.replace(/^\[|\]$/g, "")) && hostname !== "0.0.0.0") return once;
  return `${once} Only this machine can open it: for another device, start the server with LONGHAND_HOST and set LONGHAND_URL to an address that it can reach.`;
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
