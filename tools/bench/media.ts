/**
 * The hub as a relay, compared with nginx and its RTMP module: the latency of each frame and the CPU load, for 1, 4 and 8
 * publishers with two players each. Alternating rounds.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { median, readRounds, withFolder } from "./harness.ts";
import { type Film, FRAMES_PER_SECOND, makeFilm, readStamp, startPump } from "./media/film.ts";
import { playRtmp, playRtsp } from "./media/players.ts";
import { type Relay, startHub, startNginx } from "./media/relays.ts";

const PUBLISHERS = [1, 4, 8];
const PLAYERS = 2;
const WARM_MS = 1000;
const MEASURED_MS = 4000;
/** Latency that the relay may add, in milliseconds. */
const LIMIT_MS = 10;
/** USER_HZ of /proc/PID/stat. */
const TICKS_PER_SECOND = 100;

interface Measured {
  readonly medianMs: number;
  readonly p99Ms: number;
  /** Of one core. */
  readonly cpuPercent: number;
  /** Share of the frames sent to all players. */
  readonly received: number;
}

export default function media(args: readonly string[], terminal: Terminal): Promise<number> {
  const rounds = readRounds(args);
  return withFolder(async (folder) => {
    const relays = new Map<string, Relay>();
    try {
      terminal.say("encoding the test film");
      const film = await makeFilm();
      const hub = await startHub(folder);
      relays.set("hub, RTSP to RTSP", hub("rtsp"));
      relays.set("hub, RTMP to RTSP", hub("rtmp"));
      const nginx = await startNginx(folder);
      if (nginx === null) terminal.say("nginx with its RTMP module is not installed (nginx, libnginx-mod-rtmp)");
      else relays.set("nginx, RTMP to RTMP", nginx);
      return await compare(relays, film, rounds, terminal);
    } finally {
      const byPid = new Map([...relays.values()].map((relay) => [relay.pid, relay]));
      await Promise.all([...byPid.values()].map((relay) => relay.stop()));
    }
  });
}

async function compare(
  relays: ReadonlyMap<string, Relay>,
  film: Film,
  rounds: number,
  terminal: Terminal,
): Promise<number> {
  const rows: string[][] = [];
  let isWithin = true;
  for (const publishers of PUBLISHERS) {
    const all = new Map<string, Measured[]>([...relays.keys()].map((name) => [name, []]));
    for (let round = 1; round <= rounds; round++) {
      for (const [name, relay] of relays) {
        all.get(name)?.push(await measure(relay, film, publishers));
        terminal.say(`${publishers} publishers, round ${round} of ${rounds}: ${name}`);
      }
    }
    const middle = new Map([...all].map(([name, list]) => [name, summarise(list)]));
    const peer = middle.get("nginx, RTMP to RTMP");
    for (const [name, { medianMs, p99Ms, cpuPercent, received }] of middle) {
      const ratio = peer === undefined ? "–" : (cpuPercent / peer.cpuPercent).toFixed(2);
      const cells = [medianMs.toFixed(2), p99Ms.toFixed(2), cpuPercent.toFixed(1), received.toFixed(3), ratio];
      rows.push([name, String(publishers), ...cells]);
      if (name.startsWith("hub")) isWithin &&= medianMs < LIMIT_MS;
    }
  }
  const heads = ["relay", "streams", "ms", "p99 ms", "CPU %", "received", "CPU ratio"];
  await terminal.print(alignTable(heads, rows, terminal.paintOut));
  terminal.say(
    `1280 × 720, ${FRAMES_PER_SECOND} fps; ${PLAYERS} players per stream; limit of the median: ${LIMIT_MS} ms; ` +
      `medians of ${rounds} rounds of ${MEASURED_MS / 1000} s`,
  );
  return isWithin ? 0 : 1;
}

const summarise = (list: readonly Measured[]): Measured => ({
  medianMs: median(list.map((one) => one.medianMs)),
  p99Ms: median(list.map((one) => one.p99Ms)),
  cpuPercent: median(list.map((one) => one.cpuPercent)),
  received: Math.min(...list.map((one) => one.received)),
});

let nextName = 1;

async function measure(relay: Relay, film: Film, publishers: number): Promise<Measured> {
  const names = Array.from({ length: publishers }, () => `stream${nextName++}`);
  const pumps = await Promise.all(names.map((name) => startPump(relay.publishUrl(name), film)));
  const lateMs: number[] = [];
  let isMeasuring = false;
  const players = names.flatMap((name, index) =>
    Array.from({ length: PLAYERS }, () => {
      const url = relay.playUrl(name);
      return retry(() =>
        (url.startsWith("rtsp:") ? playRtsp : playRtmp)(url, (nals) => {
          const number = readStamp(nals);
          const sentAtMs = number === null ? undefined : pumps[index]?.sentAtMs[number];
          if (isMeasuring && sentAtMs !== undefined) lateMs.push(performance.now() - sentAtMs);
        }),
      );
    }),
  );
  const stops = await Promise.all(players);
  await sleep(WARM_MS);
  const sentBefore = countSent(pumps);
  const ticks = readTicks(relay.pid);
  const beganMs = performance.now();
  isMeasuring = true;
  await sleep(MEASURED_MS);
  isMeasuring = false;
  const seconds = (performance.now() - beganMs) / 1000;
  const cpuPercent = ((readTicks(relay.pid) - ticks) / TICKS_PER_SECOND / seconds) * 100;
  const sent = (countSent(pumps) - sentBefore) * PLAYERS;
  for (const stop of stops) stop();
  await Promise.all(pumps.map((pump) => pump.stop()));
  const sorted = lateMs.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { medianMs: at(0.5), p99Ms: at(0.99), cpuPercent, received: lateMs.length / sent };
}

const countSent = (pumps: readonly { readonly sentAtMs: readonly number[] }[]): number =>
  pumps.reduce((sum, { sentAtMs }) => sum + sentAtMs.length, 0);

/** A stream can be played once its first keyframe has arrived. */
async function retry<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = 50; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 0) throw error;
      await sleep(100);
    }
  }
}

/** CPU time of a process, user and system. */
function readTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}
