/**
 * Several nodes on one database: what passing a request on costs, the transactions of one node by their origin, and the
 * database under the load of 100 nodes. The nodes run processes without a graph (cluster/runner.mjs).
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { loadConfig } from "../../server/config/load.ts";
import { makeKey } from "../../server/keys/keys.ts";
import { openDatabase } from "../../server/store/database.ts";
import { type BenchDatabase, startDatabase } from "./cluster/database.ts";
import { type Comparison, compare, fire, type Latency, quantile } from "./cluster/requests.ts";
import { NODES, simulate } from "./cluster/simulate.ts";
import { type BenchChild, callApi, median, readRounds, startChild, withFolder } from "./harness.ts";
import { makeFilm, type Pump, startPump } from "./media/film.ts";

const NODE = fileURLToPath(new URL("cluster/node.ts", import.meta.url));
const ROUNDS = 3;
const STREAMS = 10;
const PROCESSES = 20;
/** Of requests: each has a process of its own. */
const CONNECTIONS = 8;
const SECONDS = 4;
const WARM_SECONDS = 2;
const LOAD_SECONDS = 30;
const SETTLE_MS = 10_000;
const SIMULATED_SECONDS = 30;
/** Connections of all simulated nodes together, as behind a pooler. */
const POOL = 40;

/** Of the design: transactions/s of one node, and of all. */
const GOAL_NODE = 3.5;
const GOAL_ALL = GOAL_NODE * NODES;

/** What a statement is for, by the first table that it names. */
const ORIGINS: readonly (readonly [RegExp, string])[] = [
  [/recording/, "recordings"],
  [/^select track_id|track_points|insert into tracks|update tracks|track_patches/, "tracks"],
  [/process_alerts|from alerts/, "alerts"],
  [/destinations|deliver/, "deliveries"],
  [/insert into usage|from users/, "usage"],
  [/insert into nodes|from nodes/, "node"],
  [/enhancements/, "enhancements"],
  [/sources/, "keys of streams"],
  [/processes/, "progress"],
];

export default function cluster(args: readonly string[], terminal: Terminal): Promise<number> {
  const rounds = readRounds(args, ROUNDS);
  return withFolder(async (folder) => {
    const database = await startDatabase(folder, POOL * 2);
    const children: BenchChild[] = [];
    const key = makeKey();
    const start = async (name: string): Promise<BenchChild> => {
      const child = await startChild(
        ["--import", "tsx", NODE],
        process.cwd(),
        environment(database, folder, name, key),
      );
      children.push(child);
      return child;
    };
    try {
      terminal.say("starting a node");
      const owner = await start("first");
      const perSecond = await measureNode(database, owner, key, terminal);
      terminal.say("starting a second node");
      await measureRequests(owner, await start("second"), key, rounds, terminal);
      await Promise.all(children.splice(0).map((child) => child.stop()));
      const isSmall = await measureMany(database, folder, terminal);
      return perSecond <= GOAL_NODE && isSmall ? 0 : 1;
    } finally {
      await Promise.all(children.map((child) => child.stop()));
      await database.close();
    }
  });
}

const SECRETS_KEY = "0123456789abcdef".repeat(4);

const environment = ({ url }: BenchDatabase, folder: string, name: string, key: string): NodeJS.ProcessEnv => ({
  ...process.env,
  ...{ DATABASE_URL: url, WINDHOVER_SECRETS_KEY: SECRETS_KEY, WINDHOVER_BOOTSTRAP_KEY: key },
  ...{ WINDHOVER_DATA_DIR: join(folder, name), WINDHOVER_HTTP_HOST: "127.0.0.1", WINDHOVER_HTTP_PORT: "0" },
  ...{ WINDHOVER_RTSP_PORT: "0", WINDHOVER_RTMP_PORT: "0", WINDHOVER_SRT_PORT: "0", WINDHOVER_RUNNERS_SPARE: "0" },
  ...{ WINDHOVER_LIMITS_PROCESSES: "1000", WINDHOVER_LIMITS_REQUESTS_PER_MINUTE: "1000000000" },
  ...{ WINDHOVER_RUNNERS_START_SECONDS: "60", WINDHOVER_RECORDINGS_RESERVE_BYTES: "0", WINDHOVER_LOG_LEVEL: "error" },
});

/** Recorded streams and processes on them; resolves with the transactions/s. */
async function measureNode(
  database: BenchDatabase,
  node: BenchChild,
  key: string,
  terminal: Terminal,
): Promise<number> {
  const at = { url: node.url, key };
  const film = await makeFilm();
  const pumps: Pump[] = [];
  for (let i = 0; i < STREAMS; i += 1) {
    const url = `${node.rtsp}/master/camera/${i}`;
    const stream = { alias: `Camera ${i}`, stream_type: "rtsp", input_url: url };
    const { body: source } = await callApi<{ uuid: string }>(at, "POST", "/stream", stream);
    pumps.push(await startPump(`${url}?api_key=${key}`, film));
    await untilStreaming(at, source.uuid);
    for (let j = 0; j < PROCESSES / STREAMS; j += 1) await callApi(at, "POST", `/start?source_uuid=${source.uuid}`);
  }
  terminal.say(`measuring the transactions of a node for ${LOAD_SECONDS} s`);
  await sleep(SETTLE_MS);
  const before = [await database.countTransactions(), await database.countStatements(), database.cpuSeconds()] as const;
  const beganMs = performance.now();
  await sleep(LOAD_SECONDS * 1000);
  const seconds = (performance.now() - beganMs) / 1000;
  const perSecond = ((await database.countTransactions()) - before[0]) / seconds;
  const cpu = (100 * (database.cpuSeconds() - before[2])) / seconds;
  const origins = countByOrigin(before[1], await database.countStatements());
  for (const pump of pumps) await pump.stop();
  const rows = [...origins]
    .sort(([, a], [, b]) => b - a)
    .map(([origin, count]) => [origin, (count / seconds).toFixed(2)]);
  rows.push(["all transactions", perSecond.toFixed(2)], ["goal", `at most ${GOAL_NODE}`]);
  await terminal.print(alignTable([`one node, ${PROCESSES} processes`, "statements/s"], rows, terminal.paintOut));
  terminal.say(
    `${STREAMS} recorded streams, ${PROCESSES} processes with 10 track rows/s each; PostgreSQL ${cpu.toFixed(1)} % of a core`,
  );
  return perSecond;
}

async function untilStreaming(at: { readonly url: string; readonly key: string }, uuid: string): Promise<void> {
  for (let i = 0; i < 100; i += 1) {
    const { body } = await callApi<{ status: string }>(at, "GET", `/source/${uuid}`);
    if (body.status !== "offline") return;
    await sleep(100);
  }
}

function countByOrigin(
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [query, count] of now) {
    const more = count - (before.get(query) ?? 0);
    const text = query.replaceAll(/\s+/g, " ").trim();
    if (more === 0 || /^(begin|commit|rollback)/i.test(text)) continue;
    const origin = ORIGINS.find(([pattern]) => pattern.test(text))?.[1] ?? "other";
    counts.set(origin, (counts.get(origin) ?? 0) + more);
  }
  return counts;
}

async function measureRequests(
  owner: BenchChild,
  other: BenchChild,
  key: string,
  rounds: number,
  terminal: Terminal,
): Promise<void> {
  const { body } = await callApi<{ processes: { uuid: string }[] }>({ url: owner.url, key }, "GET", "/processes");
  const uuids = body.processes.slice(0, CONNECTIONS).map(({ uuid }) => uuid);
  const kinds = {
    "GET /process/{uuid}": uuids.map((uuid) => [["GET", `/process/${uuid}`]] as const),
    "POST pause, resume": uuids.map(
      (uuid) =>
        [
          ["POST", `/process/${uuid}/pause`],
          ["POST", `/process/${uuid}/resume`],
        ] as const,
    ),
  };
  const rows: string[][] = [];
  for (const [name, workers] of Object.entries(kinds)) {
    for (const { url } of [owner, other]) await fire(url, key, workers, WARM_SECONDS);
    const loads: { direct: number; passed: number; latency: Comparison }[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      loads.push({
        direct: await fire(owner.url, key, workers, SECONDS),
        passed: await fire(other.url, key, workers, SECONDS),
        latency: await compare(owner.url, other.url, key, workers[0] ?? [], SECONDS),
      });
      terminal.say(`${name}, round ${round} of ${rounds}`);
    }
    const of = (pick: (load: (typeof loads)[number]) => number): number => median(loads.map(pick));
    rows.push(
      [name, "direct", of(({ direct }) => direct).toFixed(0), ...showLatency(of, ({ latency }) => latency.direct), ""],
      [
        ...[name, "passed on", of(({ passed }) => passed).toFixed(0)],
        ...[
          ...showLatency(of, ({ latency }) => latency.passed),
          of(({ direct, passed }) => passed / direct).toFixed(2),
        ],
      ],
      [
        ...[name, "added", ""],
        of(({ latency }) => latency.passed.p50Ms - latency.direct.p50Ms).toFixed(2),
        ...[of(({ latency }) => latency.passed.p99Ms - latency.direct.p99Ms).toFixed(2), ""],
      ],
    );
  }
  const heads = ["request", "node", "requests/s", "p50 ms", "p99 ms", "ratio"];
  await terminal.print(alignTable(heads, rows, terminal.paintOut));
  terminal.say(
    `requests/s with ${CONNECTIONS} connections, latencies with one at a time, alternating; medians of ${rounds} rounds of ${SECONDS} s; both nodes on this machine`,
  );
}

const showLatency = <T>(of: (pick: (load: T) => number) => number, find: (load: T) => Latency): readonly string[] => [
  of((load) => find(load).p50Ms).toFixed(2),
  of((load) => find(load).p99Ms).toFixed(2),
];

/** Whether the goal is met. */
async function measureMany(database: BenchDatabase, folder: string, terminal: Terminal): Promise<boolean> {
  const env = {
    ...environment(database, folder, "simulated", makeKey()),
    WINDHOVER_DATABASE_CONNECTIONS: String(POOL),
  };
  const { config } = loadConfig({ file: null, folder, env });
  const { sql, close } = await openDatabase(config, pino({ level: "silent" }));
  try {
    const [owner] = await sql<{ userUuid: string; sourceUuid: string }[]>`
      select user_uuid, uuid as source_uuid from sources limit 1`;
    if (owner === undefined) throw new Error("no source is registered");
    await sql`delete from processes`;
    let perSecond = 0;
    let cpu = 0;
    terminal.say(`simulating ${NODES} nodes for ${SIMULATED_SECONDS} s`);
    const { renewalsMs, claims, failures } = await simulate(sql, owner, async () => {
      await sleep(SETTLE_MS);
      const before = [await database.countTransactions(), database.cpuSeconds(), performance.now()] as const;
      await sleep(SIMULATED_SECONDS * 1000);
      const seconds = (performance.now() - before[2]) / 1000;
      perSecond = ((await database.countTransactions()) - before[0]) / seconds;
      cpu = (100 * (database.cpuSeconds() - before[1])) / seconds;
    });
    const rows = [
      ["transactions/s without tracks", perSecond.toFixed(0), `at most ${GOAL_ALL}`],
      ["PostgreSQL, % of a core", cpu.toFixed(0), ""],
      ["renewal of a node, p50 ms", quantile(renewalsMs, 0.5).toFixed(1), ""],
      ["renewal of a node, p99 ms", quantile(renewalsMs, 0.99).toFixed(1), ""],
      ["processes that moved", String(claims), ""],
      ["failed statements", String(failures), "0"],
    ];
    await terminal.print(
      alignTable([`${NODES} nodes, ${NODES * PROCESSES} processes`, "measured", "goal"], rows, terminal.paintOut),
    );
    return perSecond <= GOAL_ALL && failures === 0;
  } finally {
    await close();
  }
}
