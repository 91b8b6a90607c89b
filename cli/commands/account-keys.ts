/** `keys add`, `rotate` and `edit`, and the keys of one account. */
import { MAX_OVERLAP_SECONDS, OVERLAP_SECONDS, SCOPES, type Scope } from "../../schemas/api/keys.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { LIMITS } from "../../server/keys/accounts.ts";
import { addKey, type CreatedKey, rotateKey } from "../../server/keys/api-keys.ts";
import { KeyFault } from "../../server/keys/keys.ts";
import { type ApiKeyRow, findKeyRow, listKeys } from "../../server/store/api-keys.ts";
import type { Queries } from "../../server/store/client.ts";
import { changeUser, findUserByName, listUsers, readSubscription, type UserRow } from "../../server/store/users.ts";
import {
  type Command,
  EXIT,
  expectPositionals,
  type Given,
  type Option,
  type Options,
  UsageFault,
} from "../command.ts";
import { DATABASE_NOTES, DATABASE_OPTIONS, withDatabase } from "../database.ts";
import { FLAGS, readExpiry, readLimits, summariseKey } from "../keys.ts";
import type { Terminal } from "../terminal.ts";

const EXPIRES: Option = {
  type: "string",
  value: "DATE",
  about: "Last valid day (UTC), or a time; default: the key does not expire.",
};

export const keysAdd = {
  name: "keys add",
  about: "Create a further API key of an account. The key is shown only once.",
  usage: "ACCOUNT",
  options: {
    name: { type: "string", value: "TEXT", about: "Name of the key, for people; default: its scopes." },
    scope: {
      ...{ type: "string", value: "SCOPE", multiple: true },
      about: `What the key may do: ${SCOPES.join(", ")}. operate includes read and publish, admin includes all.`,
    },
    source: {
      ...{ type: "string", value: "UUID", multiple: true },
      about: "The key sees and uses only this source; may be repeated. Default: all sources.",
    },
    expires: EXPIRES,
    ...DATABASE_OPTIONS,
  },
  notes: DATABASE_NOTES,
  examples: [
    "keys add acme --name dashboard --scope read",
    "keys add acme --name drone-7 --scope publish --expires 2027-12-31",
  ],
  async run(given, terminal) {
    expectPositionals(given, 1, 1, "the name of an ACCOUNT");
    const [username = ""] = given.positionals;
    const scopes = readScopes(given.texts("scope"));
    const sources = given.texts("source").map((word) => readUuid(word));
    const name = given.text("name") ?? scopes.join(", ");
    if (name.length > 100) throw new UsageFault("--name is too long; expected up to 100 characters");
    const expiresAt = readExpiry(given.text("expires"));
    const created = await withDatabase(given, false, async (sql) => {
      const { uuid: userUuid } = await expectAccount(sql, username);
      return addKey(sql, { userUuid, name, scopes, sourceUuids: sources.length === 0 ? null : sources, expiresAt });
    });
    return print(created, given, terminal);
  },
} satisfies Command;

export const keysRotate = {
  name: "keys rotate",
  about: "Replace an API key by a new one with the same rights. The new key is shown only once.",
  usage: "ID",
  options: {
    overlap: {
      ...{ type: "string", value: "SECONDS" },
      about: `For how long the old key stays valid; default: ${OVERLAP_SECONDS}.`,
    },
    expires: { ...EXPIRES, about: "Last valid day (UTC) of the new key, or a time; default: as that of the old key." },
    ...DATABASE_OPTIONS,
  },
  notes: `${DATABASE_NOTES} \`keys list ACCOUNT\` shows the ids.`,
  examples: ["keys rotate k3v9x2m7qa --overlap 3600"],
  async run(given, terminal) {
    expectPositionals(given, 1, 1, "the ID of a key; `keys list ACCOUNT` shows them");
    const [word = ""] = given.positionals;
    const overlapSeconds = readOverlap(given.text("overlap"));
    const expires = given.text("expires");
    const expiresAt = expires === undefined ? undefined : readExpiry(expires);
    const created = await withDatabase(given, false, async (sql) =>
      rotateKey(sql, await expectKey(sql, word), { overlapSeconds, expiresAt }),
    );
    return print(created, given, terminal);
  },
} satisfies Command;

const COLUMNS = {
  track_logger: "hasTrackLogger",
  recording: "hasRecording",
  enhancement: "hasEnhancement",
  graph_author: "isGraphAuthor",
  operator: "isOperator",
} as const satisfies Readonly<Record<(typeof FLAGS)[number], keyof UserRow>>;
const FEATURES = FLAGS.map((flag) => flag.replace("_", "-"));
const NEVER = "never";

const EDIT_OPTIONS: Options = {
  limit: {
    ...{ type: "string", value: "NAME=N", multiple: true },
    about: `Change a limit, or NAME=default for that of the configuration: ${Object.keys(LIMITS).join(", ")}.`,
  },
  allow: { ...{ type: "string", value: "FEATURE", multiple: true }, about: `Enable one of ${FEATURES.join(", ")}.` },
  forbid: { ...{ type: "string", value: "FEATURE", multiple: true }, about: "Disable it." },
  expires: { ...EXPIRES, about: `Last valid day (UTC) of the account, or a time, or ${NEVER}.` },
  ...DATABASE_OPTIONS,
};

export const keysEdit = {
  name: "keys edit",
  about: "Change limits, features and expiry of an account. A running server applies it within two seconds.",
  usage: "ACCOUNT",
  options: EDIT_OPTIONS,
  notes: `${DATABASE_NOTES} Features of processes apply from their next start.`,
  examples: ["keys edit acme --limit processes=8 --allow recording", "keys edit acme --limit processes=default"],
  async run(given, terminal) {
    expectPositionals(given, 1, 1, "the name of an ACCOUNT");
    const [username = ""] = given.positionals;
    const allow = given.texts("allow").map((word) => readFeature("allow", word));
    const forbid = given.texts("forbid").map((word) => readFeature("forbid", word));
    const flags = Object.fromEntries([
      ...allow.map((flag) => [COLUMNS[flag], true] as const),
      ...forbid.map((flag) => [COLUMNS[flag], false] as const),
    ]);
    const expires = given.text("expires");
    const expiresAt = expires === NEVER ? null : readExpiry(expires);
    const summary = await withDatabase(given, false, async (sql) => {
      const row = await expectAccount(sql, username);
      const limits = readLimits(given.texts("limit"), row.limits);
      const changed = await changeUser(sql, row.uuid, {
        ...{ ...flags, limits },
        ...(expires !== undefined && { expiresAt }),
      });
      const masters = new Map((await listUsers(sql)).map((user) => [user.uuid, user.username]));
      const subscription = await readSubscription(sql, row.uuid);
      return subscription && summariseKey(changed, masters.get(row.masterUuid ?? "") ?? null, subscription);
    });
    if (given.flag("json")) await terminal.print(JSON.stringify(summary, null, 2));
    else await terminal.print(`${username}  changed`);
    return EXIT.ok;
  },
} satisfies Command;

const HEAD = ["ID", "NAME", "SCOPES", "SOURCES", "STATE", "CREATED", "LAST USED", "EXPIRES"];

/** `keys list NAME`. */
export async function listAccountKeys(given: Given, terminal: Terminal): Promise<number> {
  const [username = ""] = given.positionals;
  const keys = await withDatabase(given, false, async (sql) => {
    const { uuid } = await expectAccount(sql, username);
    return (await listKeys(sql, uuid, { username, withRevoked: true })).rows;
  });
  if (given.flag("json")) await terminal.print(JSON.stringify(keys.map(summarise), null, 2));
  else await terminal.printTable(HEAD, keys.map(toCells));
  return EXIT.ok;
}

function summarise(row: ApiKeyRow) {
  const { uuid, username, name, keyId, scopes, sourceUuids, createdAt, lastUsedAt, expiresAt } = row;
  return {
    ...{ uuid, username, name, key_id: keyId, scopes, source_uuids: sourceUuids, state: stateOf(row) },
    created_at: createdAt.toISOString(),
    last_used_at: lastUsedAt?.toISOString() ?? null,
    expires_at: expiresAt?.toISOString() ?? null,
  };
}

function toCells(row: ApiKeyRow): readonly string[] {
  const minute = (time: Date | null, none: string) => time?.toISOString().slice(0, 16).replace("T", " ") ?? none;
  const sources = row.sourceUuids === null ? "all" : String(row.sourceUuids.length);
  const times = [minute(row.createdAt, ""), minute(row.lastUsedAt, "never"), minute(row.expiresAt, "never")];
  return [row.keyId, row.name, row.scopes.join(","), sources, stateOf(row), ...times];
}

function stateOf({ revokedAt, expiresAt }: ApiKeyRow): "valid" | "expired" | "revoked" {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt.getTime() <= Date.now() ? "expired" : "valid";
}

async function print({ key, row }: CreatedKey, given: Given, terminal: Terminal): Promise<number> {
  if (given.flag("json")) {
    await terminal.print(JSON.stringify({ key, ...summarise(row) }, null, 2));
    return EXIT.ok;
  }
  await terminal.print(key);
  terminal.say(terminal.paintErr("dim", `API key of ${row.username}; it is not shown again`));
  return EXIT.ok;
}

async function expectAccount(sql: Queries, username: string): Promise<UserRow> {
  const row = await findUserByName(sql, username);
  if (row !== null && row.revokedAt === null) return row;
  if (row !== null) throw alreadyRevoked(row);
  throw new KeyFault(`there is no account named ${username}${didYouMean(username, await listNames(sql))}`);
}

/** By its id or by the whole key, which contains it. Throws `KeyFault`, also for a revoked one. */
export async function expectKey(sql: Queries, word: string): Promise<ApiKeyRow> {
  const id = /^wh_([a-z0-9]+)(?:_.*)?$/s.exec(word)?.[1] ?? word;
  const row = await findKeyRow(sql, id);
  if (row !== null && row.revokedAt === null) return row;
  if (row !== null) throw alreadyRevoked(row);
  const shown = word.startsWith("wh_") ? `wh_${id}` : word;
  throw new KeyFault(`there is no key with the name or id "${shown}"${didYouMean(shown, await listNames(sql))}`);
}

export const alreadyRevoked = ({ username, revokedAt }: Pick<ApiKeyRow, "username" | "revokedAt">): KeyFault =>
  new KeyFault(`${username} was already revoked at ${revokedAt?.toISOString()}`);

const listNames = async (sql: Queries) => (await listUsers(sql)).map(({ username }) => username);

function readScopes(words: readonly string[]): readonly Scope[] {
  const scopes = words.map((word) => {
    const scope = SCOPES.find((one) => one === word);
    if (scope !== undefined) return scope;
    throw new UsageFault(`--scope is "${word}"; expected ${SCOPES.join(" or ")}${didYouMean(word, SCOPES)}`);
  });
  if (scopes.length === 0) throw new UsageFault(`missing: --scope, one or several of ${SCOPES.join(", ")}`);
  return [...new Set(scopes)];
}

function readUuid(word: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(word)) return word.toLowerCase();
  throw new UsageFault(`--source is "${word}"; expected the uuid of a source`);
}

function readOverlap(text: string | undefined): number {
  if (text === undefined) return OVERLAP_SECONDS;
  const seconds = /^\d{1,8}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= MAX_OVERLAP_SECONDS) return seconds;
  throw new UsageFault(`--overlap is "${text}"; expected a whole number of seconds up to ${MAX_OVERLAP_SECONDS}`);
}

function readFeature(option: string, word: string): (typeof FLAGS)[number] {
  const flag = FLAGS[FEATURES.indexOf(word)];
  if (flag !== undefined) return flag;
  throw new UsageFault(`--${option} is "${word}"; expected ${FEATURES.join(" or ")}${didYouMean(word, FEATURES)}`);
}
