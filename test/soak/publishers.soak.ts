/**
 * Unusual streams through the whole service: people in a street are published by RTMP in each form, found by a process,
 * played and recorded. What reaches the hub is tested in hub/rtmp/publishers.test.ts and hub/rtsp/publishers.test.ts.
 * `npm run soak -- publishers` tests all forms and prints a table.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { RawClient, type Tag } from "../../hub/rtmp/raw-client.fixture.ts";
import { openSocket } from "../../hub/rtmp/rtmp.fixture.ts";
import { isVideo, shiftTags, tagsOf, toByteStream, undelayed } from "../../hub/rtmp/tags.fixture.ts";
import { type Clip, type ClipOptions, makeClip } from "../../media/mp4/clip.fixture.ts";
import { MESSAGE, makeCommand, makeControl } from "../../media/rtmp/message.ts";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import type { TrackEntry } from "../../schemas/detection-message.ts";
import { Detections } from "../api/process-client.fixture.ts";
import { MASTER_KEY, TestService } from "../api/service.fixture.ts";
import { testClip } from "../clips.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const run = promisify(execFile);
const street = testClip("vtest.avi");
const FPS = 10;
const SECONDS = 4;
const STEP_MS = 1000 / FPS;
const PERIOD_MS = SECONDS * 1000;

/** People in a street, with a picture beside the street in portrait. */
function film(options: ClipOptions, filter = "scale=640:480"): Clip {
  const sound = ["-f", "lavfi", "-i", `sine=frequency=440:sample_rate=48000:duration=${SECONDS}`];
  const input = ["-t", String(SECONDS), "-i", street ?? "", ...(options.hasAudio ? sound : [])];
  return makeClip({
    gop: FPS,
    ...options,
    hasAudio: options.hasAudio ?? false,
    input,
    encoder: ["-vf", filter, ...(options.encoder ?? [])],
  });
}

interface Form {
  readonly name: string;
  /** Of each period of four seconds, from 0. */
  readonly periods: () => readonly (readonly Tag[])[];
  /** Added to all timestamps. */
  readonly beginMs?: number;
  readonly sizes?: readonly string[];
  readonly pixels?: string;
}

const PORTRAIT = "scale=480:360,pad=480:640:0:140";

const FORMS: readonly Form[] = [
  {
    name: "turned to portrait and back, with another SPS each time",
    periods: () => [tagsOf(film({})), tagsOf(film({}, PORTRAIT))],
    sizes: ["640x480", "480x640"],
  },
  {
    name: "H.264 with 10 bits, no configuration, start codes, from 2^32 ms",
    periods: () => [
      tagsOf(film({ pixels: "yuv420p10le" }), true)
        .slice(1)
        .map(toByteStream),
    ],
    ...{ beginMs: 2 ** 32 - 3000, pixels: "yuv420p10le" },
  },
  {
    name: "H.265 with 10 bits",
    periods: () => [tagsOf(film({ codec: "h265", pixels: "yuv420p10le" }))],
    pixels: "yuv420p10le",
  },
  {
    name: "interlaced",
    periods: () => [tagsOf(film({ encoder: ["-flags", "+ilme+ildct", "-x264-params", "tff=1"] }))],
  },
  {
    name: "B-frames that are displayed before they are decoded",
    periods: () => [undelayed(film({ bFrames: 2, encoder: ["-b_strategy", "0"] }), STEP_MS)],
  },
  {
    name: "audio only for the first seconds, then both",
    periods: () => {
      const tags = tagsOf(film({ hasAudio: true }));
      return [tags.filter((tag) => !isVideo(tag)), tags, tags, tags, tags];
    },
  },
  { name: "timestamps in nanoseconds", periods: () => [tagsOf(film({})).map((tag) => ({ ...tag, scale: 1_000_000 }))] },
];

const service = street === null ? null : await TestService.start();
after(() => service?.close());

/** Sends the periods one after the other, at their pace, until it is stopped. */
async function publish(url: URL, alias: string, { periods, beginMs = 0 }: Form) {
  const all = periods();
  const client = RawClient.over(await openSocket(Number(url.port)));
  client.socket.write(Buffer.concat([Buffer.of(3), Buffer.alloc(2 * 1536)]));
  client.write(makeControl(MESSAGE.setChunkSize, 60_000));
  client.write(makeCommand(0, "connect", 1, { app: "master" }));
  client.write(makeCommand(0, "createStream", 2, null));
  client.write(makeCommand(0, "publish", 3, null, `${alias}?api_key=${MASTER_KEY}`, "live"));
  const queue = (number: number): (Tag & { readonly atMs: number })[] =>
    (all[number % all.length] ?? []).map((tag) => {
      const atMs = number * PERIOD_MS + tag.timestamp;
      const scale = "scale" in tag ? Number(tag.scale) : 1;
      const [shifted = tag] = shiftTags([{ ...tag, timestamp: 0 }], (beginMs + atMs * scale) % 2 ** 32);
      return { ...shifted, atMs };
    });
  const began = performance.now();
  let number = 0;
  let waiting = queue(number);
  const timer = setInterval(() => {
    while ((waiting[0]?.atMs ?? Number.POSITIVE_INFINITY) <= performance.now() - began) {
      const tag = waiting.shift() as Tag;
      client.send(tag);
      if (waiting.length === 0) waiting = queue(++number);
    }
  }, 10);
  const stop = (): void => {
    clearInterval(timer);
    client.command("deleteStream", null, 1);
    client.socket.end();
  };
  client.closed.then(() => clearInterval(timer));
  return { client, stop };
}

/** Size and pixel format of every decoded frame. Rejects if ffmpeg reports an error. */
async function decode(...input: readonly string[]): Promise<string[]> {
  const entries = "frame=width,height,pix_fmt";
  const args = ["-v", "error", ...input, "-select_streams", "v", "-show_entries", entries, "-of", "csv=p=0"];
  const { stdout, stderr } = await run("ffprobe", args, { timeout: 120_000, maxBuffer: 2 ** 24 });
  assert.equal(stderr, "");
  const rows = stdout.split("\n").map((line) => line.split(","));
  return rows.flatMap(([width, height, pixels]) => (pixels === undefined ? [] : [`${width}x${height}x${pixels}`]));
}

/** Of the frame that the object is in, to 10 pixels. */
function sizeOf({ bbox, scaled_bbox }: TrackEntry): string {
  const [width, height] = ([2, 3] as const).map((i) => Math.round(bbox[i] / scaled_bbox[i] / 10) * 10);
  return `${width}x${height}`;
}

async function check(form: Form, index: number, to: TestService): Promise<string> {
  const { rtmp = "", rtsp = "" } = await to.serving.event("ready");
  const alias = `form-${index}`;
  const url = new URL(rtmp);
  const source = await to.expect<SourceRecord>(201, "POST", "/stream", {
    json: { alias, stream_type: "rtmp", input_url: `${rtmp}/master/${alias}` },
  });
  const publisher = await publish(url, alias, form);
  await poll(
    "the source is streaming",
    async () => (await to.expect<SourceRecord>(200, "GET", `/source/${source.uuid}`)).status === "streaming",
    { describe: () => JSON.stringify(publisher.client.statuses()) },
  );
  const json = { params: { every: 5, classes: ["person"] } };
  const started = await to.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { json });
  const detections = await Detections.open(started.detection_data_url);
  // People are found in frames of all sizes.
  const sizes = form.sizes ?? ["640x480"];
  const seen = new Set<string>();
  let found = 0;
  await detections.until(`people in frames of ${sizes.join(" and ")}`, () => {
    for (const { active_tracks } of detections.messages.splice(0)) {
      const [first] = active_tracks;
      if (first === undefined) continue;
      found++;
      seen.add(sizeOf(first));
    }
    return sizes.every((size) => seen.has(size)) && found >= 5;
  });

  const played = await decode(
    ...[
      "-rtsp_transport",
      "tcp",
      "-read_intervals",
      "%+#20",
      "-i",
      `${rtsp.replace("//", `//any:${MASTER_KEY}@`)}/master/${alias}`,
    ],
  );
  assert.ok(played.length >= 20, played.join(" "));
  const pixels = form.pixels ?? "yuv420p";
  for (const frame of played)
    assert.ok(
      sizes.some((size) => frame === `${size}x${pixels}`),
      frame,
    );

  await to.expect(200, "DELETE", `/process/${started.process_uuid}`);
  publisher.stop();
  const recording = await poll("the recording has ended", async () => {
    const { recordings } = await to.expect<{
      recordings: { stopped_at: string | null; segments: { download_url: string }[] }[];
    }>(200, "GET", `/sources/recordings?source_uuid=${source.uuid}`);
    return recordings[0] !== undefined && recordings[0].stopped_at !== null && recordings[0];
  });
  const recorded: string[] = [];
  for (const [i, { download_url }] of recording.segments.entries()) {
    const file = join(to.folder.path, `${alias}-${i}.mp4`);
    await writeFile(file, Buffer.from(await (await fetch(download_url)).arrayBuffer()));
    recorded.push(...(await decode("-i", file)));
  }
  assert.deepEqual(new Set(recorded), new Set(sizes.map((size) => `${size}x${pixels}`)));
  assert.ok(recorded.length >= played.length, `${recorded.length} frames are recorded`);
  return `| ${form.name} | ${found} | ${played.length} | ${recorded.length} in ${recording.segments.length} files |`;
}

const forms = FORMS.slice(0, rounds(2, FORMS.length));
const rows: string[] = [];
for (const [index, form] of forms.entries())
  test(`people are found, played and recorded: ${form.name}`, {
    ...{ timeout: 300_000, skip: street === null && "the clip vtest.avi is not in the cache" },
  }, async () => {
    rows.push(await check(form, index, service ?? assert.fail()));
  });

after(() =>
  console.log(["| form | messages with people | played | recorded |", "| --- | --- | --- | --- |", ...rows].join("\n")),
);
