/**
 * A day of one 720p stream on the page Review: the size of its stored detections, and the time until Chromium has drawn its
 * time line. `bench review [ROUNDS] [CLIP]`: the detections are those of CLIP, by default of the clip of the demo, scaled to
 * 720p, again and again; CLIP can also be what `windhover run detect` has printed (`.ndjson`). The database has as many
 * tracks as the clip gives in a day, and a notice for every minute and a half. Then pages of 100,000 notices, filtered.
 */
import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pino } from "pino";
import type { Page } from "playwright-core";
import { CommandFailure } from "../../cli/command.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { clipFile } from "../../clips/clips.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { makeKey } from "../../server/keys/keys.ts";
import { type Address, connectClient } from "../../server/store/client.ts";
import { startPrivatePostgres } from "../../server/store/private-postgres.ts";
import { CLOSED } from "../../server/store/sealing/keyring.ts";
import { readWords } from "./detect.ts";
import { type BenchChild, callApi, median, run, spreadOf, startService, withFolder } from "./harness.ts";
import { HeadlessBrowser } from "./media/browser.ts";
import { addDays, type DayOptions } from "./review/add-days.ts";
import { DAY_MS, storeDay } from "./review/store-day.ts";

const COMMAND = fileURLToPath(new URL("../../cli/windhover.mjs", import.meta.url));
const DAY = { days: 1, notices: 1_000, segments: 144 };
/** Of another source: 100,000 notices. */
const MANY = { days: 10, notices: 10_000, segments: 1, tracks: 1 };
/** Of the slowest filter. */
const PAGE_LIMIT_MS = 50;
const PAGES = 20;
const LIMITS = { url: null, connections: 2, start_seconds: 60, statement_seconds: 600 };
/** Beginning of yesterday, UTC: what is older than the retention would be removed. */
const BEGAN_MS = Math.floor(Date.now() / DAY_MS - 1) * DAY_MS;
const MOST_OUTPUT = 2 ** 28;

export default function review(args: readonly string[], terminal: Terminal): Promise<void> {
  const { rounds, clip = clipFile("vtest.avi") } = readWords(args, "review");
  return withFolder(async (folder) => {
    const seen = clip.endsWith(".ndjson")
      ? readSeen(await readFile(clip, "utf8"))
      : await detect(folder, clip, terminal);
    terminal.say("storing a day");
    const stored = join(folder, "detections");
    await mkdir(stored);
    const day = await storeDay(stored, seen, BEGAN_MS);
    const rate = day.messages / (DAY_MS / 1000);
    const perMessage = day.objects / day.messages;
    const { drawn, pages } = await withDatabase(folder, (address) =>
      withService(folder, address, async (service, key) => {
        const yard = { ...DAY, tracks: day.tracks, from: new Date(BEGAN_MS) };
        const { source } = await fill(service, key, address, "yard", yard);
        const drawn = await drawDay(service, key, source, rounds, terminal);
        terminal.say("storing 100,000 notices");
        const gate = { ...MANY, from: new Date(BEGAN_MS - MANY.days * DAY_MS) };
        return { drawn, pages: await readPages(service, key, await fill(service, key, address, "gate", gate)) };
      }),
    );
    const rows = [
      ["stored detections of a day: MB", (day.bytes / 1e6).toFixed(1), ""],
      ["of an hour: MB", (day.bytes / 24e6).toFixed(2), ""],
      ["of an object: bytes", (day.bytes / day.objects).toFixed(2), ""],
      ["write a message: µs", day.writeMicroseconds.toFixed(0), ""],
      ["read a minute out of it: ms", day.minuteMs.toFixed(0), ""],
      ...(Object.entries(drawn) as [string, number[]][]).map(([name, list]) => [
        name,
        median(list).toFixed(1),
        spreadOf(list, 1),
      ]),
      ...[...pages].map(([filter, list]) => [
        `a page of 100,000 notices, ${filter}: ms`,
        `${median(list).toFixed(1)} (≤ ${PAGE_LIMIT_MS})`,
        spreadOf(list, 1),
      ]),
    ];
    await terminal.print(alignTable(["measurement", "median", "range"], rows, terminal.paintOut));
    terminal.say(
      `1280 × 720, ${rate.toFixed(1)} inferences/s, ${perMessage.toFixed(1)} objects; ${day.tracks} tracks and ${DAY.notices} notices; ${rounds} rounds`,
    );
  });
}

async function detect(folder: string, clip: string, terminal: Terminal): Promise<readonly DetectionMessage[]> {
  terminal.say("detecting");
  const scaled = join(folder, "720p.mp4");
  const codec = ["-vf", "scale=1280:720,setsar=1", "-c:v", "libx264", "-preset", "veryfast", "-an"];
  await run("ffmpeg", ["-v", "error", "-i", clip, ...codec, scaled]);
  const options = { maxBuffer: MOST_OUTPUT };
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, "run", "detect", scaled], options);
  return readSeen(stdout);
}

const readSeen = (text: string): readonly DetectionMessage[] =>
  text
    .split("\n")
    .filter((line) => line.includes('"active_tracks"'))
    .map((line) => JSON.parse(line) as DetectionMessage);

async function withDatabase<T>(folder: string, work: (address: Address) => Promise<T>): Promise<T> {
  const database = await startPrivatePostgres({
    ...{ dataDir: folder, connections: 50, startSeconds: 60, stopSeconds: 20, settings: {}, isTemporary: true },
    log: pino({ level: "silent" }),
  });
  try {
    return await work(database.address);
  } finally {
    await database.stop();
  }
}

async function withService<T>(
  folder: string,
  { host, user, database }: Address,
  work: (service: BenchChild, key: string) => Promise<T>,
): Promise<T> {
  const key = makeKey();
  const url = `postgres:///${database}?host=${encodeURIComponent(String(host))}&user=${user}`;
  const service = await startService(folder, key, { DATABASE_URL: url, WINDHOVER_RUNNERS_SPARE: "0" });
  try {
    return await work(service, key);
  } finally {
    await service.stop();
  }
}

interface Filled {
  readonly source: string;
  readonly process: string;
}

async function fill(
  { url, rtsp }: BenchChild,
  key: string,
  address: Address,
  alias: string,
  days: Omit<DayOptions, "userUuid" | "sourceUuid">,
): Promise<Filled> {
  const api = { url, key };
  const { body: user } = await callApi<{ username: string }>(api, "GET", "/user_info");
  const order = { alias, stream_type: "rtsp", input_url: `${rtsp}/${user.username}/${alias}` };
  const { body: source } = await callApi<SourceRecord>(api, "POST", "/stream", order);
  const sql = connectClient(address, LIMITS, pino({ level: "silent" }), CLOSED);
  try {
    const [owner] = await sql<{ uuid: string }[]>`select user_uuid as uuid from sources where uuid = ${source.uuid}`;
    if (owner === undefined) throw new CommandFailure("the source is not in the database");
    const process = await addDays(sql, { ...days, userUuid: owner.uuid, sourceUuid: source.uuid });
    return { source: source.uuid, process };
  } finally {
    await sql.end();
  }
}

/** Milliseconds of a page by each filter, also those that match nothing. */
async function readPages(
  { url }: BenchChild,
  key: string,
  { source, process }: Filled,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const day = (at: number): string => new Date(BEGAN_MS - at * DAY_MS).toISOString();
  const filters = [
    "reviewed=false",
    "reviewed=true",
    "class=person&reviewed=false",
    "class=dog",
    `source=${source}&process=${process}`,
    `from=${day(5)}&to=${day(4)}&class=person&source=${source}`,
  ];
  const times = new Map<string, number[]>(filters.map((filter) => [readable(filter), []]));
  for (let round = 0; round < PAGES; round += 1)
    for (const filter of filters) {
      const beganMs = performance.now();
      await callApi({ url, key }, "GET", `/notices?${filter}`);
      times.get(readable(filter))?.push(performance.now() - beganMs);
    }
  return times;
}

/** Without the values of uuids and times. */
const readable = (filter: string): string => filter.replaceAll(/(source|process|from|to)=[^&]+/g, "$1");

async function drawDay(service: BenchChild, key: string, source: string, rounds: number, terminal: Terminal) {
  const times = {
    "answer of the time line: ms": [] as number[],
    "draw it: ms": [] as number[],
    "open the page until it is drawn: ms": [] as number[],
  };
  const browser = await HeadlessBrowser.open();
  try {
    const at = new Date(BEGAN_MS + DAY_MS / 2).toISOString();
    const address = `${service.url}/console/review?source=${source}&at=${at}`;
    const page = await browser.show(address, { width: 1280, height: 800 });
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await untilDrawn(page);
    for (let round = 1; round <= rounds; round += 1) {
      await page.goto(address);
      const { drawnMs, drawMs, answerMs } = await untilDrawn(page);
      times["answer of the time line: ms"].push(answerMs);
      times["draw it: ms"].push(drawMs);
      times["open the page until it is drawn: ms"].push(drawnMs);
      terminal.say(`round ${round} of ${rounds}: ${drawnMs.toFixed(0)} ms`);
    }
  } finally {
    await browser.close();
  }
  return times;
}

/** Since the navigation. Of the canvas with all notices. */
const untilDrawn = (page: Page): Promise<{ drawnMs: number; drawMs: number; answerMs: number }> =>
  page.evaluate(`new Promise((done) => {
    const check = () => {
      const { marks, drawMs } = document.querySelector(".review-lines canvas")?.dataset ?? {};
      if (Number(marks) !== ${DAY.notices}) return requestAnimationFrame(check);
      const [answer] = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/timeline"));
      done({ drawnMs: performance.now(), drawMs: Number(drawMs), answerMs: answer.responseEnd - answer.requestStart });
    };
    check();
  })`);
