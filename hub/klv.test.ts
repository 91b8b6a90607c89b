/** KLV of real publishers reaches real readers and the recording of a hub, at the times of its pictures. */
import assert from "node:assert/strict";
import { open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeClip } from "../media/mp4/clip.fixture.ts";
import { readAt } from "../media/mp4/fragment-index.ts";
import { addKlv } from "../media/mpegts/add-klv.fixture.ts";
import { toTransportStream } from "../media/mpegts/from-recording.ts";
import { type ReadTs, readTs } from "../media/mpegts/read-ts.fixture.ts";
import { publishRtsp } from "../media/rtsp/publisher.ts";
import { H264 } from "../native/film.fixture.ts";
import { pictures, play, type Steps } from "../native/pipeline.fixture.ts";
import { temporaryFolder } from "../test/graph.fixture.ts";
import { keepFile } from "../test/kept-files.fixture.ts";
import { poll } from "../test/watch.fixture.ts";
import { ForkedHub } from "./hub.fixture.ts";
import { runProgram } from "./rtmp/rtmp.fixture.ts";

const FPS = 30;
/** Longer than programs take to start on a busy machine. A publisher is stopped when its readers have enough. */
const SECONDS = 20;
/** Units that a reader receives at least. */
const ENOUGH = 17;
const STEP = 3;
/** With every third picture. */
const UNITS = Array.from({ length: (SECONDS * FPS) / STEP }, (_, index) => ({
  seconds: (index * STEP) / FPS,
  data: writeUnit(9 + (index % 50) * 50, index),
}));
const TICK_US = 12;
/** The units of the keyframe interval that a reader gets at once when it joins. */
const SQUEEZED = 8;

function writeUnit(bytes: number, value: number): Buffer {
  const length = Buffer.from([0x82, 0, 0]);
  length.writeUInt16BE(bytes, 1);
  return Buffer.concat([Buffer.from("060e2b34020b01010e01030101000000", "hex"), length, Buffer.alloc(bytes, value)]);
}

const folder = temporaryFolder();
let film: Buffer;
let hub: ForkedHub;

before(async () => {
  const steps = { ...pictures(SECONDS * FPS), ...H264, muxer: ["mpegtsmux"] } satisfies Steps;
  const file = await keepFile([JSON.stringify(steps), "ts"], (location) =>
    play({ ...steps, file: ["filesink", { location }] }),
  );
  film = await readFile(file);
  hub = await ForkedHub.open({
    decide: ({ path, action }) => ({
      refusal: null,
      recording: action === "publish" ? path.replace("anna/", "") : null,
    }),
  });
});
after(() => hub?.remove());

const indexOf = (unit: Buffer): number => UNITS.findIndex(({ data }) => data.equals(unit));

/** Up to the last one, and none is missing in between. */
function expectUnits(units: ReadTs["units"], least: number): void {
  const indices = units.map(({ data }) => indexOf(data));
  const first = indices[0] ?? assert.fail("there is no metadata");
  assert.deepEqual(
    indices,
    units.map((_, at) => first + at),
  );
  assert.ok(units.length >= least, `${units.length} units`);
}

/** Each has the time of a picture. The first ones of a player that joins are squeezed; the last one is before its picture. */
function expectTimes({ units, pictures: times }: ReadTs, skipped = 0, withinUs = TICK_US): void {
  for (const { data, ptsUs } of units.slice(skipped, -1)) {
    const nearest = Math.min(...times.map((time) => Math.abs(time - (ptsUs ?? 0))));
    assert.ok(nearest <= withinUs, `unit ${indexOf(data)} is ${nearest} µs from a picture`);
  }
}

/** Empty before its program has created it. */
const readSoFar = (file: string): Promise<Buffer> => readFile(file).catch(() => Buffer.alloc(0));

const readUnits = async (file: string): Promise<ReadTs["units"]> => readTs(await readSoFar(file)).units;

const rtsp = async (name: string): Promise<string> =>
  (await hub.rtsp(`anna/${name}`)).replace("rtsp://", "rtsp://user:x@");

async function readRecording(name: string): Promise<ReadTs> {
  await hub.next("recorded", ({ recording }) => recording === name);
  const file = await open(join(hub.folder, "recordings", name, "0.mp4"));
  const pieces: Buffer[] = [];
  const { size } = await file.stat();
  for await (const piece of toTransportStream({ bytes: size, read: (at, bytes) => readAt(file, at, bytes) }))
    pieces.push(piece);
  await file.close();
  return readTs(Buffer.concat(pieces));
}

for (const [kind, type] of [
  ["synchronous", 0x15],
  ["asynchronous", 0x06],
] as const)
  test(`${kind} metadata of an SRT publisher is in SRT, RTSP and the recording`, async () => {
    const { srtPort } = await hub.ports();
    const sent = join(folder, `${kind}.ts`);
    await writeFile(sent, addKlv(film, UNITS, kind));
    const srt = (mode: string, ...more: string[]) => [
      `uri=srt://127.0.0.1:${srtPort}`,
      `streamid=#!::r=anna/${kind},u=x,m=${mode}`,
      ...more,
    ];
    const ended = new AbortController();
    const publisher = [
      ...["-q", "filesrc", `location=${sent}`, "!", "tsparse", "set-timestamps=true", "alignment=7", "!"],
      ...["srtsink", ...srt("publish")],
    ];
    // Not killed: SRT would notice it only after seconds.
    const publishing = runProgram("gst-launch-1.0", publisher, ended.signal, "SIGINT");
    await hub.next("published", ({ stream }) => stream.path === `anna/${kind}`);
    const [srtFile, rtspFile] = [join(folder, `${kind}-srt.ts`), join(folder, `${kind}.klv`)];
    const reading = [
      runProgram("gst-launch-1.0", [
        ...["-q", "srtsrc", ...srt("request", "auto-reconnect=false"), "!", "filesink", `location=${srtFile}`],
      ]),
      runProgram("gst-launch-1.0", [
        ...["-q", "rtspsrc", `location=${await rtsp(kind)}`, "protocols=tcp", "latency=0", "name=source"],
        ...["source.", "!", "application/x-rtp,media=application", "!", "rtpklvdepay", "!"],
        ...["filesink", `location=${rtspFile}`],
        // Without it, rtspsrc fails if two pictures arrive before the first metadata: none of its pads is linked then.
        ...["source.", "!", "application/x-rtp,media=video", "!", "fakesink"],
      ]),
    ];
    const listRtspUnits = async () => {
      const klv = await readSoFar(rtspFile);
      return UNITS.filter(({ data }) => klv.includes(data));
    };
    let isOver = false;
    void publishing.then(() => (isOver = true));
    await poll("both readers have enough, or the film is over", async () => {
      const counts = [(await listRtspUnits()).length, (await readUnits(srtFile)).length];
      return isOver || Math.min(...counts) > ENOUGH;
    });
    ended.abort();
    const outcomes = await Promise.all([publishing, ...reading]);
    const said = outcomes.map(({ output }) => output).join("\n");
    const played = readTs(await readFile(srtFile));
    assert.equal(played.type, type);
    expectUnits(played.units, ENOUGH);
    expectTimes(played, SQUEEZED);
    const byRtsp = await listRtspUnits();
    assert.ok(byRtsp.length >= ENOUGH, `${byRtsp.length} units over RTSP: ${said}`);
    const recorded = await readRecording(kind);
    assert.equal(recorded.type, type);
    // From the first one on, and all that a player received.
    assert.equal(indexOf(recorded.units[0]?.data ?? assert.fail()), 0);
    expectUnits(recorded.units, indexOf(played.units.at(-1)?.data ?? assert.fail()) + 1);
    assert.ok(recorded.pictures.length >= (recorded.units.length - 1) * STEP, `${recorded.pictures.length} pictures`);
    expectTimes(recorded);
  });

test("metadata of an RTSP publisher (application/smpte336m) is in SRT and the recording", async () => {
  const { srtPort } = await hub.ports();
  const sent = join(folder, "rtsp.ts");
  const file = join(folder, "rtsp-srt.ts");
  await writeFile(sent, addKlv(film, UNITS, "asynchronous"));
  const ended = new AbortController();
  const publisher = [
    ...["-q", "filesrc", `location=${sent}`, "!", "tsdemux", "name=demux"],
    ...["rtspclientsink", "name=sink", `location=${await rtsp("rtsp")}`, "protocols=tcp"],
    ...["demux.", "!", "queue", "!", "h264parse", "config-interval=-1", "!", "sink."],
    ...["demux.", "!", "queue", "!", "meta/x-klv", "!", "sink."],
  ];
  const publishing = runProgram("gst-launch-1.0", publisher, ended.signal);
  await hub.next("published", ({ stream }) => stream.path === "anna/rtsp");
  const reading = runProgram("gst-launch-1.0", [
    ...["-q", "srtsrc", `uri=srt://127.0.0.1:${srtPort}`, "streamid=#!::r=anna/rtsp,u=x,m=request"],
    ...["auto-reconnect=false", "!", "filesink", `location=${file}`],
  ]);
  let isOver = false;
  void reading.then(() => (isOver = true));
  await poll(
    "the reader has enough, or the film is over",
    async () => isOver || (await readUnits(file)).length > ENOUGH,
  );
  // Killed: with two streams, `rtspclientsink` of GStreamer 1.22 sometimes loses its EOS, and connects again and again.
  ended.abort();
  const [{ output }] = await Promise.all([publishing, reading]);
  const recorded = await readRecording("rtsp");
  assert.equal(recorded.type, 0x06, output);
  const played = await readUnits(file);
  expectUnits(played, ENOUGH);
  expectUnits(recorded.units, played.length);
});

test("metadata of an RTSP publisher has the times of its pictures by its sender reports", async () => {
  const clip = makeClip({ seconds: 2 });
  const publisher = await publishRtsp(await rtsp("reports"), { ...clip.tracks, klv: "asynchronous" });
  const beganMs = Date.now();
  for (const [index, unit] of clip.units.entries()) {
    const { data } = UNITS[index / STEP] ?? { data: null };
    const klv = data === null ? [] : [{ ptsUs: unit.ptsUs, data }];
    publisher.send({ ...unit, captureMs: beganMs + unit.ptsUs / 1000, klv });
  }
  await publisher.close();
  const recorded = await readRecording("reports");
  assert.equal(recorded.pictures.length, clip.pictures);
  expectUnits(recorded.units, clip.pictures / STEP);
  // The clock of the reports counts milliseconds.
  expectTimes(recorded, 0, 1000);
});
