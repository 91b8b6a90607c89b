import { createKey } from "../../server/keys/keys.ts";
import { readSubscription } from "../../server/store/users.ts";
import { type Command, EXIT, expectPositionals } from "../command.ts";
import { KEYS_NOTES, KEYS_OPTIONS, withKeys } from "../keys/open-keys.ts";
import { LIMITS, readOrder } from "../keys/read-order.ts";
import { summariseKey } from "../keys/summary.ts";

export default {
  name: "keys create",
  about: "Makes an API key, and with it a user of that name. The key is shown once.",
  usage: "NAME",
  options: {
    master: { type: "string", value: "NAME", about: "The master key that it is a child of; else it is a master." },
    product: { type: "string", value: "NAME", about: "The product that it stands for; else standard." },
    minutes: { type: "string", value: "N", about: "Minutes that it may use; else any number." },
    pending: { type: "string", value: "N", about: "Of a master: minutes to hand out to itself and its children." },
    expires: { type: "string", value: "DATE", about: "Its last day, UTC, or a time; else it does not expire." },
    "track-logger": { type: "boolean", about: "Its processes keep track reports." },
    recording: { type: "boolean", about: "Its processes are recorded." },
    enhancement: { type: "boolean", about: "It may have track reports enhanced." },
    "graph-author": { type: "boolean", about: "It may run graphs of its own." },
    operator: {
      type: "boolean",
      about: "It is of who runs the service, as the first key is: it may read GET /metrics.",
    },
    limit: {
      type: "string",
      value: "NAME=N",
      multiple: true,
      about: `Instead of the limit in the configuration: ${Object.keys(LIMITS).join(", ")}.`,
    },
    ...KEYS_OPTIONS,
  },
  notes: `${KEYS_NOTES} Only a digest of the key is kept: one that is lost is revoked, and another made.`,
  examples: [
    "keys create acme --pending 6000 --track-logger",
    "keys create acme-north --master acme --minutes 500 --expires 2027-12-31",
    "keys create prometheus --operator --minutes 0",
    "keys create lab --graph-author --limit processes=8 --limit sources=500",
  ],
  async run(given, terminal) {
    expectPositionals(given, 1, 1, "a NAME for the key");
    const order = readOrder(given);
    const { key, summary } = await withKeys(given, true, async (sql) => {
      const made = await createKey(sql, order);
      const subscription = await readSubscription(sql, made.row.uuid);
      return { key: made.key, summary: subscription && summariseKey(made.row, order.master, subscription) };
    });
    if (given.flag("json")) {
      await terminal.print(JSON.stringify({ key, ...summary }, null, 2));
      return EXIT.ok;
    }
    await terminal.print(key);
    terminal.say(terminal.paintErr("dim", `the key of ${order.username}; it is not shown again`));
    return EXIT.ok;
  },
} satisfies Command;
