import { NO_EXPIRATION_DATE, UNLIMITED_MINUTES } from "../../schemas/api/information.ts";
import type { Sql } from "../../server/store/client.ts";
import { listUsers, readSubscription } from "../../server/store/users.ts";
import { type Command, EXIT, expectPositionals } from "../command.ts";
import { KEYS_NOTES, KEYS_OPTIONS, withKeys } from "../keys/open-keys.ts";
import { FLAGS, type KeySummary, summariseKey } from "../keys/summary.ts";
import { fit, padTo } from "../text.ts";

const HEAD = ["NAME", "ID", "STATE", "PRODUCT", "LEFT", "USED", "PENDING", "EXPIRES", "MAY"];

export default {
  name: "keys list",
  about: "Lists the API keys: masters, each followed by its children.",
  usage: "",
  options: KEYS_OPTIONS,
  notes: `${KEYS_NOTES} LEFT, USED and PENDING are minutes. Secrets are not kept, and so not shown.`,
  examples: ["keys list", "keys list --json | jq -r '.[] | select(.state == \"valid\").username'"],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "no argument");
    const keys = await withKeys(given, false, list);
    if (given.flag("json")) {
      await terminal.print(JSON.stringify(keys, null, 2));
      return EXIT.ok;
    }
    const table = [HEAD, ...keys.map(toCells)];
    const widths = HEAD.map((_, i) => Math.max(...table.map((cells) => (cells[i] ?? "").length)));
    for (const cells of table) {
      const line = cells
        .map((cell, i) => padTo(cell, widths[i] ?? 0))
        .join("  ")
        .trimEnd();
      const cut = terminal.isOutLive ? fit(line, terminal.columns) : line;
      await terminal.print(cells === HEAD ? terminal.paintOut("dim", cut) : cut);
    }
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
