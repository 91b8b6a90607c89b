/**
 * The hub as a relay, compared with nginx and its RTMP module: the latency of each frame and the processor time of a stream,
 * for 1, 4 and 8 publishers with two players each, in alternating rounds. And one stream to 200 players.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { median, readRounds, spreadOf, withFolder } from "./harness.ts";
import { type Film, FRAMES_PER_SECOND, makeFilm, readStamp, startPump } from "./media/film.ts";
import { countRtsp, playRtmp, playRtsp } from "./media/players.ts";
import { type Relay, startHub, startNginx } from "./media/relays.ts";

const PUBLISHERS = [1, 4, 8];
const PLAYERS = 2;
const WARM_MS = 1000;
/**
 * Frames before a measurement, of all streams together. Streams last for minutes or days, and V8 compiles some functions again
 * when the first ones of another kind arrive, after about a thousand calls.
 */
const SETTLED_FRAMES = 1200;
const MEASURED_MS = 8000;
/** What an idle relay takes, before each measurement: it changes with the speed of a shared machine. */
const IDLE_MS = 4000;
/** Latency that the relay may add, in milliseconds. */
const LIMIT_MS = 10;
/** Processor time of a stream, compared with nginx. */
const LIMIT_RATIO = 4;
/** Players of one stream, and how many connect at a time. */
const FAN_OUT = 200;
const AT_A_TIME = 20;
/** V8 optimises what runs often: after this time, with 8 streams, the hub is as it is for the rest of its life. */
const OPTIMISED_MS = 30_000;

interface Measured {
  readonly medianMs: number;
  readonly p99Ms: number;
  /** Of one core, without what an idle relay takes. */
  readonly cpuPercent: number;
  readonly idlePercent: number;
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
      terminal.say(`optimising the hub: 8 streams for ${OPTIMISED_MS / 1000} s`);
      await measure(hub("rtsp"), film, 4, OPTIMISED_MS / 2);
      await measure(hub("rtmp"), film, 4, OPTIMISED_MS / 2);
      const isWithin = await compare(relays, film, rounds, terminal);
      await fanOut(hub("rtsp"), film, terminal);
      return isWithin ? 0 : 1;
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
): Promise<boolean> {
  const rows: string[][] = [];
  const idle: number[] = [];
  let isWithin = true;
  for (const publishers of PUBLISHERS) {
    const all = new Map<string, Measured[]>([...relays.keys()].map((name) => [name, []]));
    for (let round = 1; round <= rounds; round++) {
      for (const [name, relay] of relays) {
        all.get(name)?.push(await measure(relay, film, publishers));
        terminal.say(`${publishers} publishers, round ${round} of ${rounds}: ${name}`);
      }
    }
    const peer = all.get("nginx, RTMP to RTMP");
    for (const [name, list] of all) {
      const { medianMs, p99Ms, cpuPercent, received } = summarise(list);
      // Of each round, whose measurements are close together: how fast a shared machine is changes within minutes.
      const ratio = median(list.map((one, round) => one.cpuPercent / (peer?.[round]?.cpuPercent ?? Number.NaN)));
      const cells = [medianMs, p99Ms, cpuPercent / publishers].map((value) => value.toFixed(2));
      rows.push([name, String(publishers), ...cells, received.toFixed(3), peer === undefined ? "–" : ratio.toFixed(2)]);
      if (!name.startsWith("hub")) continue;
      isWithin &&= medianMs < LIMIT_MS && !(ratio > LIMIT_RATIO);
      idle.push(...list.map(({ idlePercent }) => idlePercent));
    }
  }
  const heads = ["relay", "streams", "ms", "p99 ms", "CPU % a stream", "received", "CPU ratio"];
  await terminal.print(alignTable(heads, rows, terminal.paintOut));
  terminal.say(
    `1280 × 720, ${FRAMES_PER_SECOND} fps; ${PLAYERS} players per stream; limit of the median: ${LIMIT_MS} ms, of the CPU ` +
      `ratio: ${LIMIT_RATIO}; medians of ${rounds} rounds of ${MEASURED_MS / 1000} s`,
  );
  terminal.say(`processor time without streams, not included: hub ${median(idle).toFixed(2)} % (${spreadOf(idle, 2)})`);
  return isWithin;
}

/** One stream to many players: processor time of a player, and whether every packet arrived. */
async function fanOut(relay: Relay, film: Film, terminal: Terminal): Promise<void> {
  const idlePercent = await measureIdle(relay.pid);
  const name = `stream${nextName++}`;
  const pump = await startPump(relay.publishUrl(name), film);
  const players: Awaited<ReturnType<typeof countRtsp>>[] = [];
  while (players.length < FAN_OUT)
    players.push(
      ...(await Promise.all(Array.from({ length: AT_A_TIME }, () => retry(() => countRtsp(relay.playUrl(name)))))),
    );
  await sleep(WARM_MS);
  const before = players.reduce((sum, { frames }) => sum + frames(), 0);
  const sentBefore = countSent([pump]);
  const cpuPercent = await measureCpu(relay.pid, MEASURED_MS);
  const sent = (countSent([pump]) - sentBefore) * FAN_OUT;
  const received = players.reduce((sum, { frames }) => sum + frames(), 0) - before;
  const lost = players.reduce((sum, player) => sum + player.lost(), 0);
  for (const { stop } of players) stop();
  await pump.stop();
  const a = (cpuPercent - idlePercent) / FAN_OUT;
  terminal.say(
    `one stream to ${FAN_OUT} players by RTSP: CPU ${a.toFixed(3)} % a player (${cpuPercent.toFixed(0)} % in all), ` +
      `${(received / sent).toFixed(3)} of the frames received, ${lost} packets lost`,
  );
}

const measureIdle = async (pid: number): Promise<number> => {
  await sleep(WARM_MS);
  return measureCpu(pid, IDLE_MS);
};

/** Of one core, over this time. */
async function measureCpu(pid: number, forMs: number): Promise<number> {
  const [cpuMs, beganMs] = [readCpuMs(pid), performance.now()];
  await sleep(forMs);
  return ((readCpuMs(pid) - cpuMs) / (performance.now() - beganMs)) * 100;
}

const summarise = (list: readonly Measured[]): Measured => ({
  medianMs: median(list.map((one) => one.medianMs)),
  p99Ms: median(list.map((one) => one.p99Ms)),
  cpuPercent: median(list.map((one) => one.cpuPercent)),
  idlePercent: median(list.map((one) => one.idlePercent)),
  received: Math.min(...list.map((one) => one.received)),
});

let nextName = 1;

async function measure(relay: Relay, film: Film, publishers: number, forMs = MEASURED_MS): Promise<Measured> {
  const idlePercent = await measureIdle(relay.pid);
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
  await sleep((SETTLED_FRAMES / (FRAMES_PER_SECOND * publishers)) * 1000);
  const sentBefore = countSent(pumps);
  isMeasuring = true;
  const cpuPercent = (await measureCpu(relay.pid, forMs)) - idlePercent;
  isMeasuring = false;
  const sent = (countSent(pumps) - sentBefore) * PLAYERS;
  for (const stop of stops) stop();
  await Promise.all(pumps.map((pump) => pump.stop()));
  const sorted = lateMs.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { medianMs: at(0.5), p99Ms: at(0.99), cpuPercent, idlePercent, received: lateMs.length / sent };
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

/** Processor time of all threads of a process, to the nanosecond. */
function readCpuMs(pid: number): number {
  const folder = `/proc/${pid}/task`;
  const times = readdirSync(folder).map(
    (thread) => readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0],
  );
  return times.reduce((sum, ns) => sum + Number(ns) / 1e6, 0);
}
