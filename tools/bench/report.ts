/**
 * The track report of a process with 100,000 tracks and 24 hours of detections, compared with its limit of two seconds:
 * complete without images, complete with images, and one page; with the memory of the server.
 */

import { readFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { pino } from "pino";
import { CommandFailure } from "../../cli/command.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { makeKey } from "../../server/keys/keys.ts";
import { startPrivatePostgres } from "../../server/store/private-postgres.ts";
import { type BenchChild, median, readRounds, startService, withFolder } from "./harness.ts";
import { fillReport, type ReportSize } from "./report/fill.ts";

const LIMIT_SECONDS = 2;
/** Passing cars, and some that are parked all day, with as many points as thinning keeps of a day. */
const SIZE: ReportSize = { tracks: 100_000, pointsEach: 20, parked: 50, parkedPoints: 3_600, patchBytes: 8 * 1024 };

const ROWS: readonly (readonly [name: string, query: string, isPacked: boolean])[] = [
  ["one page of 100", "?limit=100", false],
  ["complete, without images", "?patches=false", false],
  ["the same, gzip", "?patches=false", true],
  ["complete, with images", "", false],
];

export default function report(args: readonly string[], terminal: Terminal): Promise<void> {
  const rounds = readRounds(args);
  return withFolder(async (folder) => {
    const database = await startPrivatePostgres({
      ...{ dataDir: folder, connections: 50, startSeconds: 60, stopSeconds: 20, settings: {}, isTemporary: true },
      log: pino({ level: "silent" }),
    });
    const key = makeKey();
    let server: BenchChild | null = null;
    try {
      const { host, user, database: name } = database.address;
      const url = `postgres:///${name}?host=${encodeURIComponent(host)}&user=${user}`;
      server = await startService(folder, key, { DATABASE_URL: url, WINDHOVER_RUNNERS_SPARE: "0" });
      terminal.say(`writing ${SIZE.tracks} tracks …`);
      const uuid = await fillReport(database.address, SIZE, (text) => terminal.say(text));
      await measure(server, `${server.url}/process/${uuid}/tracks`, key, rounds, terminal);
    } finally {
      await server?.stop();
      await database.stop();
    }
  });
}

async function measure(
  server: BenchChild,
  url: string,
  key: string,
  rounds: number,
  terminal: Terminal,
): Promise<void> {
  const rows: string[][] = [];
  for (const [name, query, isPacked] of ROWS) {
    const readings: Reading[] = [];
    for (let round = 0; round < rounds; round++)
      readings.push(await readAnswer(`${url}${query}`, { key, isPacked, pid: server.pid }));
    const of = (pick: (reading: Reading) => number) => median(readings.map(pick));
    const seconds = of((reading) => reading.seconds);
    const megabytes = of((reading) => reading.bytes / 1e6);
    rows.push([
      name,
      megabytes.toFixed(1),
      of((reading) => reading.firstMs).toFixed(0),
      seconds.toFixed(2),
      (seconds / LIMIT_SECONDS).toFixed(2),
      (megabytes / seconds).toFixed(0),
      Math.max(...readings.map((reading) => reading.serverBytes / 1e6)).toFixed(0),
    ]);
    terminal.say(name);
  }
  const heads = ["report", "MB", "first ms", "seconds", "of limit", "MB/s", "server MB"];
  await terminal.print(alignTable(heads, rows, terminal.paintOut));
  terminal.say(
    `${SIZE.tracks} tracks of ${SIZE.pointsEach} points, ${SIZE.parked} of them of ${SIZE.parkedPoints}, images of ${SIZE.patchBytes} bytes; medians of ${rounds} rounds, peak memory`,
  );
}

interface Reading {
  readonly bytes: number;
  readonly firstMs: number;
  readonly seconds: number;
  /** Peak resident memory of the server; 0 if unknown. */
  readonly serverBytes: number;
}

interface ReadOptions {
  readonly key: string;
  readonly isPacked: boolean;
  readonly pid: number;
}

const SAMPLE_MS = 50;

/** Reads a response to its end and samples the memory of the server. */
async function readAnswer(url: string, { key, isPacked, pid }: ReadOptions): Promise<Reading> {
  let serverBytes = 0;
  const sample = () => {
    serverBytes = Math.max(serverBytes, measureMemory(pid));
  };
  const timer = setInterval(sample, SAMPLE_MS);
  const began = performance.now();
  try {
    const headers = { api_key: key, ...(isPacked && { "accept-encoding": "gzip" }) };
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(url, { headers }, resolve).on("error", reject),
    );
    if (response.statusCode !== 200) throw new CommandFailure(`the report failed with status ${response.statusCode}`);
    let [bytes, firstMs] = [0, 0];
    for await (const chunk of response as AsyncIterable<Buffer>) {
      firstMs ||= performance.now() - began;
      bytes += chunk.length;
    }
    sample();
    return { bytes, firstMs, seconds: (performance.now() - began) / 1000, serverBytes };
  } finally {
    clearInterval(timer);
  }
}

function measureMemory(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
