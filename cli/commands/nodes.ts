/** `nodes list`, `drain` and `undrain`: the machines that share a database. */
import type { NodeListing, NodeRecord } from "../../schemas/api/nodes.ts";
import type { Config } from "../../schemas/config.ts";
import { describeNode } from "../../server/api/nodes.ts";
import { nodeUrl } from "../../server/cluster/machine.ts";
import { countWaiting } from "../../server/store/claims.ts";
import type { Sql } from "../../server/store/client.ts";
import { drainNode, listNodes } from "../../server/store/nodes.ts";
import { type Command, CommandFailure, EXIT, expectPositionals, type Given, UsageFault } from "../command.ts";
import { DATABASE_NOTES, DATABASE_OPTIONS, withDatabase } from "../database.ts";
import type { Terminal } from "../terminal.ts";

const HEAD = ["NODE", "STATE", "VERSION", "PROCESSES", "CORES", "USED", "LABELS", "URL"];

export const nodesList = {
  name: "nodes list",
  about: "List the nodes of the service: the servers that share a database.",
  usage: "",
  options: DATABASE_OPTIONS,
  notes: `${DATABASE_NOTES} PROCESSES and CORES are those in use or reserved, and the capacity of the node, if limited; USED are the cores in use as measured. A lost node is shown for ten minutes.`,
  examples: ["nodes list", "nodes list --json | jq -r '.nodes[] | select(.state == \"live\").url'"],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "no argument");
    const listing = await withDatabase(given, false, list);
    if (given.flag("json")) {
      await terminal.print(JSON.stringify(listing, null, 2));
      return EXIT.ok;
    }
    await terminal.printTable(HEAD, listing.nodes.map(toCells));
    if (listing.waiting > 0)
      terminal.say(terminal.paintErr("yellow", `processes that no node has room for: ${listing.waiting}`));
    return EXIT.ok;
  },
} satisfies Command;

const TARGET_OPTIONS = {
  this: { type: "boolean", about: "The node that this machine's configuration describes, instead of UUID." },
  ...DATABASE_OPTIONS,
} as const;
const TARGET = "UUID, or a unique beginning of it, or --this; `nodes list` shows them";

export const nodesDrain = {
  name: "nodes drain",
  about: "Drain a node: it takes no more processes, and hands its own over to other nodes.",
  usage: "UUID|--this",
  options: {
    seconds: {
      type: "string",
      value: "N",
      about: "Time to hand its processes over; default: cluster.drain_seconds of the configuration.",
    },
    ...TARGET_OPTIONS,
  },
  notes: `${DATABASE_NOTES} The node learns it within four seconds, and its /readyz returns 503 from then on. It stays drained until \`nodes undrain\` or its restart. To stop a node, a SIGTERM to its server does the same and needs no drain before it.`,
  examples: ["nodes drain 0198c7a2 --seconds 300", "nodes drain --this"],
  run: (given, terminal) =>
    change(given, terminal, (config) => given.number("seconds", "any") ?? config.cluster.drain_seconds),
} satisfies Command;

export const nodesUndrain = {
  name: "nodes undrain",
  about: "End the draining of a node: it takes processes again.",
  usage: "UUID|--this",
  options: TARGET_OPTIONS,
  notes: `${DATABASE_NOTES} Processes that it has handed over stay where they are.`,
  examples: ["nodes undrain 0198c7a2", "nodes undrain --this"],
  run: (given, terminal) => change(given, terminal, () => null),
} satisfies Command;

async function list(sql: Sql, config: Config): Promise<NodeListing> {
  const [rows, waiting] = await Promise.all([listNodes(sql), countWaiting(sql)]);
  const url = nodeUrl(config, config.http.port);
  // The only server of a private database has no URL for others.
  const own = rows.find((row) => row.isLive && (row.url === url || config.database.url === null));
  return { nodes: rows.map((row) => describeNode(row, own?.uuid ?? "")), waiting };
}

const MOST_SECONDS = 86_400;

/** `secondsOf`: time to drain it, or null to undrain it. */
async function change(given: Given, terminal: Terminal, secondsOf: (config: Config) => number | null): Promise<number> {
  const isThis = given.flag("this");
  expectPositionals(given, isThis ? 0 : 1, isThis ? 0 : 1, isThis ? "no UUID with --this" : TARGET);
  const node = await withDatabase(given, false, async (sql, config) => {
    const seconds = secondsOf(config);
    if (seconds !== null && seconds > MOST_SECONDS)
      throw new UsageFault(`--seconds is "${seconds}"; expected at most ${MOST_SECONDS}`);
    const { nodes } = await list(sql, config);
    const { uuid } = isThis ? findThis(nodes, config) : find(nodes, given.positionals[0] ?? "");
    const isDone = await drainNode(sql, uuid, seconds);
    const changed = (await list(sql, config)).nodes.find((one) => one.uuid === uuid);
    if (!isDone || changed === undefined)
      throw new CommandFailure(`the node ${uuid} is lost: it has ended or is unreachable`);
    return changed;
  });
  if (given.flag("json")) await terminal.print(JSON.stringify(node, null, 2));
  else await terminal.print(`${node.uuid}  ${node.state}  ${node.reserved.processes} processes`);
  return EXIT.ok;
}

function find(nodes: readonly NodeRecord[], word: string): NodeRecord {
  const [found, ...others] = nodes.filter(({ uuid }) => uuid.startsWith(word.toLowerCase()));
  if (found === undefined)
    throw new CommandFailure(`there is no node ${word}; \`windhover nodes list\` shows the nodes`);
  if (others.length === 0) return found;
  throw new CommandFailure(`${word} is the beginning of ${others.length + 1} nodes; give more of the UUID`);
}

function findThis(nodes: readonly NodeRecord[], config: Config): NodeRecord {
  const own = nodes.find(({ is_this }) => is_this);
  if (own !== undefined) return own;
  const url = nodeUrl(config, config.http.port);
  throw new CommandFailure(
    `no live node has the URL ${url}, which this machine's configuration gives (cluster.url, http.host, http.port); give the UUID of the node`,
  );
}

function toCells(node: NodeRecord): readonly string[] {
  const { reserved, capacity, used } = node;
  return [
    node.uuid,
    node.state,
    node.version,
    share(reserved.processes ?? 0, capacity.processes),
    share(round(reserved.cores ?? 0), capacity.cores),
    used === null ? "-" : String(round(used.cores)),
    Object.entries(node.labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(",") || "-",
    node.url ?? "-",
  ];
}

const share = (part: number, whole: number | null): string => (whole === null ? String(part) : `${part}/${whole}`);
const round = (cores: number): number => Math.round(cores * 10) / 10;
