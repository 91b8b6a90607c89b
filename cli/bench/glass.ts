/**
 * From glass to glass: pictures with the time in them are published to the service, and whoever plays them tells how old
 * they are: a browser by WebRTC and by HLS, ffmpeg by RTSP, and ffmpeg the processed output of the graph `detect`.
 * Publisher, service and players share this machine and its clock. `bench glass [ROUNDS]`.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { makeKey } from "../../server/keys/keys.ts";
import { CommandFailure } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { startChild } from "./api/child.ts";
import { median, readRounds } from "./engine.ts";
import { HeadlessBrowser, medianAgeMs, untilState, watchFrames } from "./media/browser.ts";
import { playFrames } from "./media/play-frames.ts";
import { publishTimeCode } from "./media/time-code-publisher.ts";

const COMMAND = fileURLToPath(new URL("../windhover.mjs", import.meta.url));
const STATUS_LIMIT_MS = 60_000;
const [WIDTH, HEIGHT, FRAMES] = [1280, 720, 90];

/** By the name of the way: what it may take, in milliseconds; null where nothing is promised. */
const LIMITS: Readonly<Record<string, number | null>> = {
  "RTSP, ffmpeg": null,
  "WebRTC, Chromium": 150,
  "LL-HLS, Chromium": 2000,
  "detect → RTSP, ffmpeg": null,
};

type Call = <T>(method: string, path: string, body?: unknown) => Promise<T>;

interface Source {
  readonly uuid: string;
  readonly hls_url: string;
}

interface ProcessNumbers {
  readonly stats: { readonly latency_ms: { readonly p50: number }; readonly inference_ms: number } | null;
}

export default async function glass(args: readonly string[], terminal: Terminal): Promise<number> {
  const rounds = readRounds(args);
  const folder = await mkdtemp(join(tmpdir(), "windhover-bench-"));
  await chmod(folder, 0o755);
  const key = makeKey();
  const ports = { WINDHOVER_HTTP_PORT: "0", WINDHOVER_RTSP_PORT: "0", WINDHOVER_RTMP_PORT: "0" };
  const env = { ...process.env, ...ports, WINDHOVER_DATA_DIR: join(folder, "data"), WINDHOVER_BOOTSTRAP_KEY: key };
  const service = await startChild([COMMAND, "serve"], folder, env);
  const browser = await HeadlessBrowser.open();
  try {
    const call = makeCall(service.url, key);
    const { username } = await call<{ username: string }>("GET", "/user_info");
    const input_url = `${service.rtsp}/${username}/glass`;
    const { uuid } = await call<Source>("POST", "/stream", { alias: "glass", stream_type: "rtsp", input_url });
    const publisher = publishTimeCode({ url: `${input_url}?api_key=${key}`, width: WIDTH, height: HEIGHT });
    try {
      await untilStatus(call, `/source/${uuid}`, "streaming");
      const source = await call<Source>("GET", `/source/${uuid}`);
      const ages = new Map<string, number[]>(Object.keys(LIMITS).map((name) => [name, []]));
      const stages: Stages[] = [];
      for (let round = 1; round <= rounds; round++) {
        const take = (name: string, ms: number) => ages.get(name)?.push(ms);
        take("RTSP, ffmpeg", median(await playFrames(`${input_url}?api_key=${key}`, WIDTH, HEIGHT, FRAMES)));
        take("WebRTC, Chromium", await watch(browser, pageOf(source, "webrtc")));
        take("LL-HLS, Chromium", await watch(browser, pageOf(source, "hls")));
        const processed = await measureProcessed(call, uuid, key);
        take("detect → RTSP, ffmpeg", processed.totalMs);
        stages.push(processed);
        terminal.say(`round ${round} of ${rounds}`);
      }
      return await print(ages, stages, terminal);
    } finally {
      await publisher.stop();
    }
  } finally {
    await browser.close();
    await service.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

const pageOf = ({ hls_url }: Source, kind: "webrtc" | "hls"): string => hls_url.replace("/hls/index.m3u8", `/${kind}`);

async function watch(browser: HeadlessBrowser, url: string): Promise<number> {
  const page = await browser.show(url);
  try {
    await untilState(page, "live");
    // What comes first are pictures from before, and a player that finds its place.
    await watchFrames(page, FRAMES);
    return medianAgeMs(await watchFrames(page, FRAMES));
  } finally {
    await page.close();
  }
}

interface Stages {
  readonly totalMs: number;
  /** In the runner, from when a picture was taken until its messages go out. */
  readonly runnerMs: number;
  readonly inferenceMs: number;
}

async function measureProcessed(call: Call, sourceUuid: string, key: string): Promise<Stages> {
  const output = await call<{ uuid: string; play_url: string }>("POST", "/output", {
    ...{ alias: "glass", type: "rtsp", url: "rtsp://glass-out", settings: null },
  });
  const { process_uuid } = await call<{ process_uuid: string }>("POST", `/start?source_uuid=${sourceUuid}`);
  try {
    await call("POST", `/process/${process_uuid}/${output.uuid}`);
    const url = `${output.play_url}?api_key=${key}`;
    await untilStatus(call, `/output/${output.uuid}`, "live");
    const ages = await playFrames(url, WIDTH, HEIGHT, FRAMES);
    const { stats } = await call<ProcessNumbers>("GET", `/process/${process_uuid}`);
    return {
      totalMs: median(ages),
      runnerMs: stats?.latency_ms.p50 ?? Number.NaN,
      inferenceMs: stats?.inference_ms ?? Number.NaN,
    };
  } finally {
    await call("DELETE", `/process/${process_uuid}`);
  }
}

async function untilStatus(call: Call, path: string, expected: string): Promise<void> {
  const untilMs = performance.now() + STATUS_LIMIT_MS;
  while (performance.now() < untilMs) {
    const { status } = await call<{ status: string }>("GET", path);
    if (status === expected) return;
    await sleep(100);
  }
  throw new CommandFailure(`${path} did not become ${expected}`);
}

async function print(
  ages: ReadonlyMap<string, readonly number[]>,
  stages: readonly Stages[],
  terminal: Terminal,
): Promise<number> {
  const line = (name: string, ...cells: readonly string[]): string =>
    `${name.padEnd(44)}${cells.map((cell) => cell.padStart(10)).join("")}`;
  const ms = (values: readonly number[]): string => median(values).toFixed(0);
  await terminal.print(line("way", "ms", "limit", "ratio"));
  let isWithin = true;
  for (const [name, values] of ages) {
    const limit = LIMITS[name] ?? null;
    const ratio = limit === null ? "–" : (median(values) / limit).toFixed(2);
    if (limit !== null) isWithin &&= median(values) < limit;
    await terminal.print(line(name, ms(values), limit === null ? "–" : String(limit), ratio));
  }
  const straight = median(ages.get("RTSP, ffmpeg") ?? []);
  const runner = median(stages.map(({ runnerMs }) => runnerMs));
  const total = median(stages.map(({ totalMs }) => totalMs));
  await terminal.print(line("  of which as without the process", straight.toFixed(0)));
  await terminal.print(line("  in the runner, from the camera to a message", runner.toFixed(0)));
  await terminal.print(line("    of which one inference", ms(stages.map(({ inferenceMs }) => inferenceMs))));
  await terminal.print(line("  drawn, encoded and published", Math.max(0, total - straight - runner).toFixed(0)));
  terminal.say(`${WIDTH} × ${HEIGHT} at 30 pictures a second, medians of ${FRAMES} pictures in each round`);
  return isWithin ? 0 : 1;
}

const makeCall =
  (base: string, key: string): Call =>
  async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const headers = { api_key: key, "content-type": "application/json" };
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await fetch(`${base}${path}`, init);
    if (!response.ok) throw new CommandFailure(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
