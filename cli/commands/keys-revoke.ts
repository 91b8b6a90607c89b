import { didYouMean } from "../../schemas/suggest.ts";
import { KeyFault } from "../../server/keys/keys.ts";
import type { Sql } from "../../server/store/client.ts";
import { findUserByKeyId, findUserByName, listUsers, revokeUser, type UserRow } from "../../server/store/users.ts";
import { type Command, EXIT, expectPositionals } from "../command.ts";
import { KEYS_NOTES, KEYS_OPTIONS, withKeys } from "../keys/open-keys.ts";

export default {
  name: "keys revoke",
  about: "Revokes API keys, for good. A running server honours it within a second or two.",
  usage: "NAME|ID…",
  options: KEYS_OPTIONS,
  notes: `${KEYS_NOTES} Revoking a master key revokes the keys of its children too. What belongs to the keys stays; what runs is stopped within seconds.`,
  examples: ["keys revoke acme-north", "keys revoke lab prometheus"],
  async run(given, terminal) {
    expectPositionals(given, 1, 1000, "a NAME or an ID; `keys list` tells them");
    const revoked = await withKeys(given, false, (sql) => revoke(sql, [...new Set(given.positionals)]));
    if (given.flag("json")) await terminal.print(JSON.stringify(revoked, null, 2));
    else for (const { username, key_id } of revoked) await terminal.print(`${username}  ${key_id}  revoked`);
    return EXIT.ok;
  },
} satisfies Command;

/** All are found before one is revoked. */
async function revoke(sql: Sql, words: readonly string[]) {
  const rows: UserRow[] = [];
  for (const word of words) rows.push(await find(sql, word));
  const revoked: UserRow[] = [];
  for (const { uuid } of rows) revoked.push(...(await revokeUser(sql, uuid)));
  return revoked.map(({ username, keyId }) => ({ username, key_id: keyId, state: "revoked" }));
}

async function find(sql: Sql, word: string): Promise<UserRow> {
  // Whoever has the whole key has its id, and should not have to search for it.
  const id = /^wh_([a-z0-9]+)(?:_.*)?$/s.exec(word)?.[1] ?? word;
  const row = (await findUserByName(sql, word)) ?? (await findUserByKeyId(sql, id));
  if (row !== null && row.revokedAt === null) return row;
  if (row !== null) throw new KeyFault(`${row.username} has been revoked already, at ${row.revokedAt?.toISOString()}`);
  const names = (await listUsers(sql)).map(({ username }) => username);
  const shown = word.startsWith("wh_") ? `wh_${id}` : word;
  throw new KeyFault(`there is no key with the name or id "${shown}"${didYouMean(shown, names)}`);
}
