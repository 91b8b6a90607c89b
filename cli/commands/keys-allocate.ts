import { KeyFault } from "../../server/keys/keys.ts";
import type { Sql } from "../../server/store/client.ts";
import { addPending, allocate, findUserByName, readSubscription } from "../../server/store/users.ts";
import { type Command, EXIT, expectPositionals, UsageFault } from "../command.ts";
import { KEYS_NOTES, KEYS_OPTIONS, withKeys } from "../keys/open-keys.ts";
import { type KeySummary, summariseKey } from "../keys/summary.ts";

const MINUTE_MS = 60_000;
const MOST_MINUTES = 1_000_000_000;

export default {
  name: "keys allocate",
  about: "Hands pending minutes of a master key to itself or a child; without a NAME, adds to what it has to hand out.",
  usage: "MASTER [NAME] MINUTES",
  options: KEYS_OPTIONS,
  notes: `${KEYS_NOTES} All or nothing: no more than is pending is handed out.`,
  examples: ["keys allocate acme 6000", "keys allocate acme acme-north 500"],
  async run(given, terminal) {
    expectPositionals(given, 2, 3, "MASTER [NAME] MINUTES");
    const [master = "", ...rest] = given.positionals;
    const minutes = readMinutes(rest.at(-1) ?? "");
    const name = rest.length === 2 ? (rest[0] ?? null) : null;
    const summary = await withKeys(given, false, (sql) => hand(sql, master, name, minutes));
    if (given.flag("json")) {
      await terminal.print(JSON.stringify(summary, null, 2));
      return EXIT.ok;
    }
    const { username, remaining_minutes, pending_to_allocate } = summary;
    const left = name === null ? `${pending_to_allocate} to hand out` : `${remaining_minutes} left to use`;
    await terminal.print(`${username}  ${minutes} minutes more  ${left}`);
    return EXIT.ok;
  },
} satisfies Command;

function readMinutes(text: string): number {
  const minutes = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (minutes >= 1 && minutes <= MOST_MINUTES) return minutes;
  throw new UsageFault(`MINUTES is "${text}"; expected a whole number from 1 to ${MOST_MINUTES}`);
}

async function hand(sql: Sql, masterName: string, name: string | null, minutes: number): Promise<KeySummary> {
  const master = await findUserByName(sql, masterName);
  if (master === null) throw new KeyFault(`there is no key named ${masterName}; \`keys list\` tells them`);
  const ms = minutes * MINUTE_MS;
  if (name === null) await addPending(sql, master.uuid, ms);
  else await allocate(sql, { masterUuid: master.uuid, username: name, ms });
  const receiver = await findUserByName(sql, name ?? masterName);
  const subscription = receiver && (await readSubscription(sql, receiver.uuid));
  if (!receiver || !subscription) throw new KeyFault(`${name ?? masterName} is gone`);
  return summariseKey(receiver, receiver.masterUuid === null ? null : masterName, subscription);
}
