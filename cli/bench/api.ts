/** `GET /sources` of a user with 100 of them, against bare Hono that answers with the same bytes: turn by turn. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeKey } from "../../server/keys/keys.ts";
import { CommandFailure } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { type BenchChild, startChild } from "./api/child.ts";
import { fire, type Shots } from "./api/fire.ts";
import { median, readRounds } from "./engine.ts";

const COMMAND = fileURLToPath(new URL("../windhover.mjs", import.meta.url));
const BARE = fileURLToPath(new URL("api/bare.ts", import.meta.url));
const SOURCES = 100;
const CONNECTIONS = 10;
const SECONDS = 4;
const WARM_SECONDS = 2;

export default async function api(args: readonly string[], terminal: Terminal): Promise<void> {
  const rounds = readRounds(args);
  const folder = await mkdtemp(join(tmpdir(), "windhover-bench-"));
  const children: BenchChild[] = [];
  try {
    await chmod(folder, 0o755);
    const key = makeKey();
    const ours = await startOurs(folder, key);
    children.push(ours);
    const answer = await registerSources(ours.url, key);
    const answerFile = join(folder, "answer.json");
    await writeFile(answerFile, answer);
    const bare = await startChild(["--import", "tsx", BARE, answerFile], process.cwd(), process.env);
    children.push(bare);
    const measured = await measure(ours, bare, key, rounds, terminal);
    await printTable(measured, answer.length, terminal);
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

const startOurs = (folder: string, key: string): Promise<BenchChild> =>
  startChild([COMMAND, "serve"], folder, {
    ...process.env,
    WINDHOVER_DATA_DIR: join(folder, "data"),
    WINDHOVER_BOOTSTRAP_KEY: key,
    WINDHOVER_HTTP_PORT: "0",
    WINDHOVER_RTSP_PORT: "0",
    WINDHOVER_RTMP_PORT: "0",
    WINDHOVER_RUNNERS_SPARE: "0",
    // The limit itself stays at work: it is part of what a request costs.
    WINDHOVER_LIMITS_REQUESTS_PER_MINUTE: "1000000000",
  });

/** Resolves with the listing. */
async function registerSources(url: string, key: string): Promise<string> {
  const headers = { api_key: key, "content-type": "application/json" };
  for (let i = 0; i < SOURCES; i++) {
    const body = { alias: `Camera ${i}`, input_url: `rtsp://192.0.2.${i + 1}:554/main`, stream_type: "rtsp" };
    const response = await fetch(`${url}/stream`, { method: "POST", headers, body: JSON.stringify(body) });
    if (response.status !== 201) throw new CommandFailure(`a source was not registered: ${await response.text()}`);
  }
  const answer = await (await fetch(`${url}/sources`, { headers })).text();
  const { sources } = JSON.parse(answer) as { sources: unknown[] };
  if (sources.length !== SOURCES) throw new CommandFailure(`${sources.length} of ${SOURCES} sources are listed`);
  return answer;
}

interface Measured {
  readonly ours: readonly Shots[];
  readonly bare: readonly Shots[];
}

async function measure(
  ours: BenchChild,
  bare: BenchChild,
  key: string,
  rounds: number,
  terminal: Terminal,
): Promise<Measured> {
  const shoot = ({ url }: BenchChild, seconds = SECONDS) => fire(`${url}/sources`, key, CONNECTIONS, seconds);
  for (const child of [ours, bare]) await shoot(child, WARM_SECONDS);
  const shots: { ours: Shots[]; bare: Shots[] } = { ours: [], bare: [] };
  for (let round = 1; round <= rounds; round++) {
    shots.bare.push(await shoot(bare));
    shots.ours.push(await shoot(ours));
    const [last] = shots.ours.slice(-1);
    terminal.say(`round ${round} of ${rounds}: ${last?.perSecond.toFixed(0)} requests/s`);
  }
  return shots;
}

async function printTable({ ours, bare }: Measured, bytes: number, terminal: Terminal): Promise<void> {
  const perSecond = (shots: readonly Shots[]) => median(shots.map((shot) => shot.perSecond));
  const row = (name: string, shots: readonly Shots[]) =>
    line(
      name,
      perSecond(shots).toFixed(0),
      median(shots.map((shot) => shot.p50Ms)).toFixed(1),
      median(shots.map((shot) => shot.p99Ms)).toFixed(1),
      (perSecond(shots) / perSecond(bare)).toFixed(3),
    );
  await terminal.print(line("answer", "requests/s", "p50 ms", "p99 ms", "ratio"));
  await terminal.print(row("bare Hono, a constant", bare));
  await terminal.print(row(`GET /sources, ${SOURCES} sources`, ours));
  terminal.say(
    `${bytes} bytes an answer, ${CONNECTIONS} connections, medians of ${ours.length} rounds of ${SECONDS} s`,
  );
}

const line = (name: string, ...cells: readonly string[]): string =>
  `${name.padEnd(28)}${cells.map((cell) => cell.padStart(11)).join("")}`;
