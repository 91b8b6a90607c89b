/**
 * A clip out of the middle of an hour of recording: time to its first byte, compared with a file server that sends the same
 * bytes, in alternating rounds; and the memory of the service while it sends the whole hour.
 */
import { createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Static } from "typebox";
import { CommandFailure } from "../../cli/command.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import type { RecordingListing, SourceRecord } from "../../schemas/api/sources.ts";
import { makeKey } from "../../server/keys/keys.ts";
import { recordHour } from "./clips/record-hour.ts";
import {
  type BenchChild,
  callApi,
  median,
  readRounds,
  spreadOf,
  startChild,
  startService,
  withFolder,
} from "./harness.ts";
import { type Film, makeFilm, startPump } from "./media/film.ts";

const BARE = fileURLToPath(new URL("clips/bare.ts", import.meta.url));
const CLIP_SECONDS = 60;
const MIDDLE_MS = 30 * 60_000;
const HOUR_MS = 3_600_000;
/** Of the first byte, more than the file server takes. */
const LIMIT_SECONDS = 0.3;
/** Of the service's memory while it sends more than a gigabyte. */
const LIMIT_MEBIBYTES = 64;
const RECORD_MS = 60_000;
const SAMPLE_MS = 50;

type Listing = Static<typeof RecordingListing>;

interface Recorded {
  readonly sourceUuid: string;
  readonly recording: string;
}

export default function clips(args: readonly string[], terminal: Terminal): Promise<number> {
  const rounds = readRounds(args);
  return withFolder(async (folder) => {
    const key = makeKey();
    const children: BenchChild[] = [];
    try {
      terminal.say("recording an hour");
      const film = await makeFilm();
      const { sourceUuid, recording } = await record(folder, key, film);
      const startedAtMs = Date.now() - 2 * HOUR_MS;
      await recordHour(film, { folder: join(folder, "data/recordings", recording), index: 1, startedAtMs });
      const service = await startService(folder, key, { WINDHOVER_RUNNERS_SPARE: "0" });
      children.push(service);
      await untilListed({ url: service.url, key }, startedAtMs);
      const clipUrl = (fromMs: number, toMs: number) =>
        `${service.url}/source/${sourceUuid}/clip?api_key=${key}&from=${toText(fromMs)}&to=${toText(toMs)}`;
      const fromMs = startedAtMs + MIDDLE_MS;
      const url = clipUrl(fromMs, fromMs + CLIP_SECONDS * 1000);
      const file = join(folder, "clip.mp4");
      await download(url, file);
      const bare = await startChild(["--import", "tsx", BARE, file], process.cwd(), process.env);
      children.push(bare);
      const seconds: { service: number[]; bare: number[] } = { service: [], bare: [] };
      for (let round = 1; round <= rounds; round++) {
        seconds.bare.push(await timeFirstByte(bare.url));
        seconds.service.push(await timeFirstByte(url));
        terminal.say(
          `round ${round} of ${rounds}: ${toMs(seconds.service.at(-1))} and ${toMs(seconds.bare.at(-1))} ms`,
        );
      }
      const whole = await watchMemory(service.pid, () => countBytes(clipUrl(startedAtMs, startedAtMs + HOUR_MS)));
      return await show(seconds, whole, terminal);
    } finally {
      await Promise.all(children.map((child) => child.stop()));
    }
  });
}

/** A short recording of the service: its folder and its source are there. */
async function record(folder: string, key: string, film: Film): Promise<Recorded> {
  const service = await startService(folder, key, { WINDHOVER_RUNNERS_SPARE: "0" });
  try {
    const api = { url: service.url, key };
    const { body: user } = await callApi<{ username: string }>(api, "GET", "/user_info");
    const input_url = `${service.rtsp}/${user.username}/yard`;
    const order = { alias: "yard", stream_type: "rtsp", input_url };
    const { body: source } = await callApi<SourceRecord>(api, "POST", "/stream", order);
    const pump = await startPump(`${input_url}?api_key=${key}`, film);
    try {
      await until(api, ({ recordings }) => (recordings[0]?.segments.length ?? 0) > 0);
    } finally {
      await pump.stop();
    }
    const { recordings } = await until(api, (listing) => listing.recordings[0]?.stopped_at != null);
    return { sourceUuid: source.uuid, recording: recordings[0]?.uuid ?? "" };
  } finally {
    await service.stop();
  }
}

const untilListed = (api: { readonly url: string; readonly key: string }, startedAtMs: number) =>
  until(api, ({ recordings }) =>
    recordings.some(({ segments, duration_seconds }) => {
      const isThere = segments.some(({ started_at }) => Math.abs(Date.parse(started_at) - startedAtMs) < 1000);
      return isThere && duration_seconds * 1000 >= HOUR_MS - 1000;
    }),
  );

async function until(
  api: { readonly url: string; readonly key: string },
  fits: (listing: Listing) => boolean,
): Promise<Listing> {
  const untilMs = performance.now() + RECORD_MS;
  for (;;) {
    const { body } = await callApi<Listing>(api, "GET", "/sources/recordings");
    if (fits(body)) return body;
    if (performance.now() > untilMs) throw new CommandFailure(`not recorded in time: ${JSON.stringify(body)}`);
    await sleep(100);
  }
}

async function timeFirstByte(url: string): Promise<number> {
  const beganMs = performance.now();
  const response = await fetch(url);
  const reader = response.body?.getReader();
  await reader?.read();
  const seconds = (performance.now() - beganMs) / 1000;
  while ((await reader?.read())?.done === false);
  if (response.status !== 200) throw new CommandFailure(`${url}: ${response.status}`);
  return seconds;
}

async function download(url: string, file: string): Promise<void> {
  const { status, body } = await fetch(url);
  if (status !== 200 || body === null) throw new CommandFailure(`${url}: ${status}`);
  await pipeline(Readable.fromWeb(body as never), createWriteStream(file));
}

async function countBytes(url: string): Promise<number> {
  let bytes = 0;
  for await (const piece of (await fetch(url)).body ?? []) bytes += (piece as Uint8Array).length;
  return bytes;
}

interface Watched {
  readonly bytes: number;
  /** Highest resident memory meanwhile, less that before. */
  readonly grownBytes: number;
}

async function watchMemory(pid: number, act: () => Promise<number>): Promise<Watched> {
  const before = readMemory(pid);
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, readMemory(pid));
  }, SAMPLE_MS);
  try {
    return { bytes: await act(), grownBytes: most - before };
  } finally {
    clearInterval(timer);
  }
}

const readMemory = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;

async function show(
  seconds: { readonly service: readonly number[]; readonly bare: readonly number[] },
  { bytes, grownBytes }: Watched,
  terminal: Terminal,
): Promise<number> {
  const more = seconds.service.map((value, round) => value - (seconds.bare[round] ?? 0));
  const mebibytes = grownBytes / 2 ** 20;
  const rows = [
    ["first byte, later than a file server: s", median(more).toFixed(3), `≤ ${LIMIT_SECONDS}`, spreadOf(more, 3)],
    [`memory for ${Math.round(bytes / 2 ** 20)} MiB: MiB`, mebibytes.toFixed(0), `≤ ${LIMIT_MEBIBYTES}`, ""],
  ];
  await terminal.print(alignTable(["measurement", "median", "limit", "range"], rows, terminal.paintOut));
  terminal.say(`${CLIP_SECONDS} s out of the middle of an hour, 1280 × 720, 30 fps, 3 Mbit/s`);
  return median(more) <= LIMIT_SECONDS && mebibytes <= LIMIT_MEBIBYTES ? 0 : 1;
}

const toMs = (seconds = Number.NaN): string => (seconds * 1000).toFixed(1);
const toText = (ms: number): string => new Date(ms).toISOString();
