/**
 * The track report of a process with 100,000 tracks and 24 hours of detections, against the two seconds that it may take:
 * whole without pictures, whole with them, and one page. With the memory of the server meanwhile.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { makeKey } from "../../server/keys/keys.ts";
import { startPrivatePostgres } from "../../server/store/private-postgres.ts";
import type { Terminal } from "../terminal.ts";
import { type BenchChild, startChild } from "./api/child.ts";
import { median, readRounds } from "./engine.ts";
import { fillReport, type ReportSize } from "./report/fill.ts";
import { type Reading, readAnswer } from "./report/read.ts";

const COMMAND = fileURLToPath(new URL("../windhover.mjs", import.meta.url));
const LIMIT_SECONDS = 2;
/** Cars that pass, and some that stand there all day: they have the points that thinning leaves of a day. */
const SIZE: ReportSize = { tracks: 100_000, pointsEach: 20, parked: 50, parkedPoints: 3_600, patchBytes: 8 * 1024 };

const ROWS: readonly (readonly [name: string, query: string, isPacked: boolean])[] = [
  ["one page of 100", "?limit=100", false],
  ["whole, without pictures", "?patches=false", false],
  ["the same as gzip", "?patches=false", true],
  ["whole, with pictures", "", false],
];

export default async function report(args: readonly string[], terminal: Terminal): Promise<void> {
  const rounds = readRounds(args);
  const folder = await mkdtemp(join(tmpdir(), "windhover-bench-"));
  await chmod(folder, 0o755);
  const database = await startPrivatePostgres({
    ...{ dataDir: folder, connections: 50, startSeconds: 60, stopSeconds: 20, settings: {}, isTemporary: true },
    log: pino({ level: "silent" }),
  });
  const key = makeKey();
  let server: BenchChild | null = null;
  try {
    const { host, user, database: name } = database.address;
    const url = `postgres:///${name}?host=${encodeURIComponent(host)}&user=${user}`;
    server = await startServer(folder, key, url);
    terminal.say(`writing ${SIZE.tracks} tracks …`);
    const uuid = await fillReport(database.address, SIZE, (words) => terminal.say(words));
    await measure(server, `${server.url}/process/${uuid}/tracks`, key, rounds, terminal);
  } finally {
    await server?.stop();
    await database.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

const startServer = (folder: string, key: string, url: string): Promise<BenchChild> =>
  startChild([COMMAND, "serve"], folder, {
    ...process.env,
    DATABASE_URL: url,
    WINDHOVER_DATA_DIR: join(folder, "data"),
    WINDHOVER_BOOTSTRAP_KEY: key,
    WINDHOVER_HTTP_PORT: "0",
    WINDHOVER_RTSP_PORT: "0",
    WINDHOVER_RTMP_PORT: "0",
    WINDHOVER_RUNNERS_SPARE: "0",
  });

async function measure(
  server: BenchChild,
  url: string,
  key: string,
  rounds: number,
  terminal: Terminal,
): Promise<void> {
  await terminal.print(line("report", "MB", "first ms", "seconds", "of limit", "MB/s", "server MB"));
  for (const [name, query, isPacked] of ROWS) {
    const readings: Reading[] = [];
    for (let round = 0; round < rounds; round++)
      readings.push(await readAnswer(`${url}${query}`, { key, isPacked, pid: server.pid }));
    const of = (pick: (reading: Reading) => number) => median(readings.map(pick));
    const seconds = of((reading) => reading.seconds);
    const megabytes = of((reading) => reading.bytes / 1e6);
    await terminal.print(
      line(
        name,
        megabytes.toFixed(1),
        of((reading) => reading.firstMs).toFixed(0),
        seconds.toFixed(2),
        (seconds / LIMIT_SECONDS).toFixed(2),
        (megabytes / seconds).toFixed(0),
        Math.max(...readings.map((reading) => reading.serverBytes / 1e6)).toFixed(0),
      ),
    );
  }
  terminal.say(
    `${SIZE.tracks} tracks of ${SIZE.pointsEach} points, ${SIZE.parked} of them of ${SIZE.parkedPoints}, pictures of ${SIZE.patchBytes} bytes; medians of ${rounds} rounds, memory at most`,
  );
}

const line = (name: string, ...cells: readonly string[]): string =>
  `${name.padEnd(26)}${cells.map((cell) => cell.padStart(10)).join("")}`;
