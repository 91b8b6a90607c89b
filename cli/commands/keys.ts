/** `keys create`, `list`, `allocate` and `revoke`: accounts, each with its first key. */
import { NO_EXPIRATION_DATE, UNLIMITED_MINUTES } from "../../schemas/api/information.ts";
import { LIMITS } from "../../server/keys/accounts.ts";
import { createKey, KeyFault } from "../../server/keys/keys.ts";
import { revokeKey } from "../../server/store/api-keys.ts";
import type { Sql } from "../../server/store/client.ts";
import {
  addPending,
  allocate,
  findUserByName,
  listUsers,
  readSubscription,
  revokeUser,
  type UserRow,
} from "../../server/store/users.ts";
import { type Command, EXIT, expectPositionals, UsageFault } from "../command.ts";
import { DATABASE_NOTES, DATABASE_OPTIONS, withDatabase } from "../database.ts";
import { FLAGS, type KeySummary, readOrder, summariseKey } from "../keys.ts";
import { alreadyRevoked, expectKey, listAccountKeys } from "./account-keys.ts";

export const keysCreate = {
  name: "keys create",
  about: "Create an account, and its first API key with all scopes. The key is shown only once.",
  usage: "NAME",
  options: {
    master: {
      type: "string",
      value: "NAME",
      about: "Create a child of this master key; default: create a master key.",
    },
    product: { type: "string", value: "NAME", about: "Product of the key; default: standard." },
    minutes: { type: "string", value: "N", about: "Minutes that the key may use; default: unlimited." },
    pending: {
      type: "string",
      value: "N",
      about: "Minutes that a master key may allocate to itself and its children.",
    },
    expires: {
      type: "string",
      value: "DATE",
      about: "Last valid day (UTC), or a time; default: the key does not expire.",
    },
    "track-logger": { type: "boolean", about: "Processes of the key keep track reports." },
    recording: { type: "boolean", about: "Processes of the key are recorded." },
    enhancement: { type: "boolean", about: "The key may enhance track reports." },
    "graph-author": { type: "boolean", about: "The key may run and store its own graphs, and upload models." },
    operator: {
      type: "boolean",
      about: "Operator key, like the first key of the service: it may read GET /metrics.",
    },
    limit: {
      type: "string",
      value: "NAME=N",
      multiple: true,
      about: `Override a limit of the configuration: ${Object.keys(LIMITS).join(", ")}.`,
    },
    ...DATABASE_OPTIONS,
  },
  notes: `${DATABASE_NOTES} Only a digest of the key is stored: revoke a lost key and create another one.`,
  examples: [
    "keys create acme --pending 6000 --track-logger",
    "keys create acme-north --master acme --minutes 500 --expires 2027-12-31",
    "keys create prometheus --operator --minutes 0",
    "keys create lab --graph-author --limit processes=8 --limit sources=500",
  ],
  async run(given, terminal) {
    expectPositionals(given, 1, 1, "a NAME for the key");
    const order = readOrder(given);
    const { key, summary } = await withDatabase(given, true, async (sql) => {
      const made = await createKey(sql, order);
      const subscription = await readSubscription(sql, made.row.uuid);
      return { key: made.key, summary: subscription && summariseKey(made.row, order.master, subscription) };
    });
    if (given.flag("json")) {
      await terminal.print(JSON.stringify({ key, ...summary }, null, 2));
      return EXIT.ok;
    }
    await terminal.print(key);
    terminal.say(terminal.paintErr("dim", `API key of ${order.username}; it is not shown again`));
    return EXIT.ok;
  },
} satisfies Command;

const HEAD = ["NAME", "ID", "STATE", "PRODUCT", "LEFT", "USED", "PENDING", "EXPIRES", "MAY"];

export const keysList = {
  name: "keys list",
  about: "List the accounts: masters, each followed by its children; with NAME, the API keys of that account.",
  usage: "[NAME]",
  options: DATABASE_OPTIONS,
  notes: `${DATABASE_NOTES} ID is that of the first key of an account. LEFT, USED and PENDING are minutes. Secrets are not stored.`,
  examples: ["keys list", "keys list acme", "keys list --json | jq -r '.[] | select(.state == \"valid\").username'"],
  async run(given, terminal) {
    expectPositionals(given, 0, 1, "at most the NAME of an account");
    if (given.positionals.length === 1) return listAccountKeys(given, terminal);
    const keys = await withDatabase(given, false, list);
    if (given.flag("json")) {
      await terminal.print(JSON.stringify(keys, null, 2));
      return EXIT.ok;
    }
    await terminal.printTable(HEAD, keys.map(toCells));
    return EXIT.ok;
  },
} satisfies Command;

async function list(sql: Sql): Promise<readonly KeySummary[]> {
  const rows = await listUsers(sql);
  const names = new Map(rows.map(({ uuid, username }) => [uuid, username]));
  const keys = await Promise.all(
    rows.map(async (row) => {
      const subscription = await readSubscription(sql, row.uuid);
      return subscription && summariseKey(row, names.get(row.masterUuid ?? "") ?? null, subscription);
    }),
  );
  return keys.filter((key) => key !== null);
}

function toCells(key: KeySummary): readonly string[] {
  return [
    key.master === null ? key.username : `  ${key.username}`,
    key.key_id,
    key.state,
    key.product,
    key.remaining_minutes === UNLIMITED_MINUTES ? "unlimited" : String(key.remaining_minutes),
    String(key.consumed_minutes),
    key.pending_to_allocate === 0 ? "-" : String(key.pending_to_allocate),
    key.expiration_date === NO_EXPIRATION_DATE ? "never" : key.expiration_date,
    FLAGS.filter((flag) => key[flag])
      .map((flag) => flag.replace("_", "-"))
      .join(", "),
  ];
}

const MINUTE_MS = 60_000;
const MOST_MINUTES = 1_000_000_000;

export const keysAllocate = {
  name: "keys allocate",
  about: "Allocate pending minutes of a master key to itself or a child; without NAME, add pending minutes.",
  usage: "MASTER [NAME] MINUTES",
  options: DATABASE_OPTIONS,
  notes: `${DATABASE_NOTES} Fails without allocating anything if fewer minutes are pending.`,
  examples: ["keys allocate acme 6000", "keys allocate acme acme-north 500"],
  async run(given, terminal) {
    expectPositionals(given, 2, 3, "MASTER [NAME] MINUTES");
    const [master = "", ...rest] = given.positionals;
    const minutes = readAllocation(rest.at(-1) ?? "");
    const name = rest.length === 2 ? (rest[0] ?? null) : null;
    const summary = await withDatabase(given, false, (sql) => addMinutes(sql, master, name, minutes));
    if (given.flag("json")) {
      await terminal.print(JSON.stringify(summary, null, 2));
      return EXIT.ok;
    }
    const { username, remaining_minutes, pending_to_allocate } = summary;
    const left = name === null ? `${pending_to_allocate} pending` : `${remaining_minutes} left`;
    await terminal.print(`${username}  +${minutes} minutes  ${left}`);
    return EXIT.ok;
  },
} satisfies Command;

function readAllocation(text: string): number {
  const minutes = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (minutes >= 1 && minutes <= MOST_MINUTES) return minutes;
  throw new UsageFault(`MINUTES is "${text}"; expected a whole number from 1 to ${MOST_MINUTES}`);
}

async function addMinutes(sql: Sql, masterName: string, name: string | null, minutes: number): Promise<KeySummary> {
  const master = await findUserByName(sql, masterName);
  if (master === null) throw new KeyFault(`there is no key named ${masterName}; \`keys list\` shows the names`);
  const ms = minutes * MINUTE_MS;
  if (name === null) await addPending(sql, master.uuid, ms);
  else await allocate(sql, { masterUuid: master.uuid, username: name, ms });
  const receiver = await findUserByName(sql, name ?? masterName);
  const subscription = receiver && (await readSubscription(sql, receiver.uuid));
  if (!receiver || !subscription) throw new KeyFault(`${name ?? masterName} was removed meanwhile`);
  return summariseKey(receiver, receiver.masterUuid === null ? null : masterName, subscription);
}

export const keysRevoke = {
  name: "keys revoke",
  about:
    "Revoke accounts by NAME, or single API keys by ID, permanently. A running server applies it within two seconds.",
  usage: "NAME|ID…",
  options: DATABASE_OPTIONS,
  notes: `${DATABASE_NOTES} A NAME revokes all keys of the account and, for a master, its children: its data is kept, its processes are stopped within seconds, and the name can be used again. An ID revokes that key only: processes continue.`,
  examples: ["keys revoke acme-north", "keys revoke lab prometheus", "keys revoke wh_k3v9x2m7qa"],
  async run(given, terminal) {
    expectPositionals(given, 1, 1000, "a NAME or an ID; `keys list` shows them");
    const revoked = await withDatabase(given, false, (sql) => revoke(sql, [...new Set(given.positionals)]));
    if (given.flag("json")) await terminal.print(JSON.stringify(revoked, null, 2));
    else for (const { username, key_id } of revoked) await terminal.print(`${username}  ${key_id}  revoked`);
    return EXIT.ok;
  },
} satisfies Command;

/** Finds all of them before it revokes the first. */
async function revoke(sql: Sql, words: readonly string[]) {
  const found: (() => Promise<readonly Pick<UserRow, "username" | "keyId">[]>)[] = [];
  for (const word of words) found.push(await find(sql, word));
  const revoked: Pick<UserRow, "username" | "keyId">[] = [];
  for (const run of found) revoked.push(...(await run()));
  return revoked.map(({ username, keyId }) => ({ username, key_id: keyId, state: "revoked" }));
}

/** How to revoke it. */
async function find(sql: Sql, word: string) {
  const account = await findUserByName(sql, word);
  if (account === null) {
    const key = await expectKey(sql, word);
    return async () => ((await revokeKey(sql, key.uuid)) ? [key] : []);
  }
  if (account.revokedAt !== null) throw alreadyRevoked(account);
  return () => revokeUser(sql, account.uuid);
}
