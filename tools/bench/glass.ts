/**
 * Glass-to-glass latency: frames with the time in them are published to the service, and players report their age: a
 * browser with WebRTC and HLS, ffmpeg with RTSP, and ffmpeg with the processed output of the graph `detect`. Publisher,
 * service and players share this machine and its clock.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandFailure } from "../../cli/command.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { makeKey } from "../../server/keys/keys.ts";
import { callApi, median, readRounds, startService, withFolder } from "./harness.ts";
import { HeadlessBrowser, medianAgeMs, untilState, watchFrames } from "./media/browser.ts";
import { ageMs, publishTimeCode, readTimeCode } from "./media/time-code.ts";

const STATUS_LIMIT_MS = 60_000;
const [WIDTH, HEIGHT, FRAMES] = [1280, 720, 90];

/** Limits in milliseconds; null where there is none. */
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

export default function glass(args: readonly string[], terminal: Terminal): Promise<number> {
  const rounds = readRounds(args);
  return withFolder(async (folder) => {
    const key = makeKey();
    const service = await startService(folder, key);
    const browser = await HeadlessBrowser.open();
    try {
      const call: Call = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
        (await callApi<T>({ url: service.url, key }, method, path, body)).body;
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
          const add = (name: string, ms: number) => ages.get(name)?.push(ms);
          add("RTSP, ffmpeg", median(await playFrames(`${input_url}?api_key=${key}`, WIDTH, HEIGHT, FRAMES)));
          add("WebRTC, Chromium", await watch(browser, pageOf(source, "webrtc")));
          add("LL-HLS, Chromium", await watch(browser, pageOf(source, "hls")));
          const processed = await measureProcessed(call, uuid, key);
          add("detect → RTSP, ffmpeg", processed.totalMs);
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
    }
  });
}

const pageOf = ({ hls_url }: Source, kind: "webrtc" | "hls"): string => hls_url.replace("/hls/index.m3u8", `/${kind}`);

async function watch(browser: HeadlessBrowser, url: string): Promise<number> {
  const page = await browser.show(url);
  try {
    await untilState(page, "live");
    // The first frames are old ones, while the player catches up.
    await watchFrames(page, FRAMES);
    return medianAgeMs(await watchFrames(page, FRAMES));
  } finally {
    await page.close();
  }
}

interface Stages {
  readonly totalMs: number;
  /** In the runner, from the capture of a frame to its messages. */
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
  const rows: string[][] = [];
  let isWithin = true;
  for (const [name, values] of ages) {
    const limit = LIMITS[name] ?? null;
    if (limit !== null) isWithin &&= median(values) < limit;
    const cells = limit === null ? ["–", "–"] : [String(limit), (median(values) / limit).toFixed(2)];
    rows.push([name, median(values).toFixed(0), ...cells]);
  }
  const direct = median(ages.get("RTSP, ffmpeg") ?? []);
  const runner = median(stages.map(({ runnerMs }) => runnerMs));
  const total = median(stages.map(({ totalMs }) => totalMs));
  rows.push(
    ["  of which without the process", direct.toFixed(0)],
    ["  in the runner, from the camera to a message", runner.toFixed(0)],
    ["    of which one inference", median(stages.map(({ inferenceMs }) => inferenceMs)).toFixed(0)],
    ["  drawing, encoding and publishing", Math.max(0, total - direct - runner).toFixed(0)],
  );
  await terminal.print(alignTable(["path", "ms", "limit", "ratio"], rows, terminal.paintOut));
  terminal.say(`${WIDTH} × ${HEIGHT} at 30 fps, medians of ${FRAMES} frames in each round`);
  return isWithin ? 0 : 1;
}

const LIMIT_MS = 60_000;

/** Decodes a stream with ffmpeg, without buffering. Resolves with the ages of `count` frames in ms, after `count` ignored ones. */
export async function playFrames(url: string, width: number, height: number, count: number): Promise<number[]> {
  const decoder = spawn(
    "ffmpeg",
    [
      ...["-v", "error", "-nostdin", "-fflags", "nobuffer", "-flags", "low_delay", "-probesize", "32768"],
      ...["-analyzeduration", "0", "-rtsp_transport", "tcp", "-i", url, "-fps_mode", "passthrough"],
      ...["-vf", `scale=${width}:${height}`, "-pix_fmt", "gray", "-f", "rawvideo", "-"],
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const closed = once(decoder, "close");
  let output = "";
  decoder.stderr.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-500);
  });
  const timer = setTimeout(() => decoder.kill("SIGKILL"), LIMIT_MS);
  const ages: number[] = [];
  let pending: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of decoder.stdout as AsyncIterable<Buffer>) {
      pending = Buffer.concat([pending, chunk]);
      for (; pending.length >= width * height; pending = pending.subarray(width * height)) {
        const code = readTimeCode({ data: pending.subarray(0, width * height), width, height, step: 1 });
        if (code !== null) ages.push(ageMs(Date.now(), code));
      }
      if (ages.length >= count * 2) return ages.slice(count);
    }
  } finally {
    clearTimeout(timer);
    decoder.kill("SIGKILL");
    await closed;
  }
  throw new CommandFailure(`only ${ages.length} frames of ${url.replace(/\?.*/, "")} were readable: ${output}`);
}
