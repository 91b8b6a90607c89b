/** A real graph sends to a real socket: video, camera and tracks are read back. */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import { runProgram } from "../../hub/rtmp/rtmp.fixture.ts";
import { freeUdpPort } from "../../hub/srt/srt.fixture.ts";
import { KlvUnits } from "../../media/mpegts/klv-units.ts";
import { AHEAD_MS, findPackets, readPacket, toUnixMs, UAS_KEY, vmtiOf } from "../../telemetry/misb-0601.ts";
import { readVmti } from "../../telemetry/misb-0903.ts";
import { compiledText, start, temporaryFolder } from "../../test/graph.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";
import type { ElementEvent, FrameMetadata } from "../element.ts";
import { marker, track, tracks } from "../marks.fixture.ts";
import { describeFrame } from "./metadata.ts";

const SIZE = { width: 64, height: 48 };
const TELEMETRY = {
  ...{ method: "between", ageMs: 0, offsetMs: 0, hfov: 60, vfov: 34 },
  ...{
    position: { latitude: 48, longitude: 11, altitude: 620, relAltitude: 100 },
    attitude: { yaw: -90, pitch: -45, roll: 2 },
  },
  doubt: { angle: 0, position: 0, height: 0 },
};
const SPOT = { latitude: 48.0001, longitude: 10.9987, altitude: 520, errorM: 2, speedMps: null, heading: null };
const META: FrameMetadata = {
  telemetry: TELEMETRY,
  tracks: tracks([track(7, [0.25, 0.5, 0.5, 0.25])]),
  places: {
    ...{ mode: "full", ageMs: 0 },
    objects: [{ azimuth: 0, elevation: 0, distance: 140, isDistanceEstimated: false, spot: SPOT }],
  },
};
const near = (found: number | null | undefined, expected: number, within: number): void =>
  assert.ok(
    typeof found === "number" && Math.abs(found - expected) <= within,
    `${found} is not ${expected} ± ${within}`,
  );

/** Reads what a frame with that metadata says. */
function expectCamera(klv: Buffer): void {
  const packet = readPacket(klv) ?? assert.fail();
  const { values } = packet;
  assert.equal(packet.isIntact, true);
  near(values.sensorLatitude, 48, 1e-7);
  near(values.sensorAltitude, 620, 0.16);
  near(values.platformHeading, 270, 0.003);
  near(values.sensorElevation, -45, 1e-6);
  near(values.sensorRoll, 2, 1e-6);
  near(values.slantRange, 141.42, 0.01);
  near(values.frameElevation, 520, 0.16);
  near(values.frameLatitude, 48, 1e-6);
  near(values.frameLongitude, 11 - 100 / 111_194.9 / Math.cos((48 * Math.PI) / 180), 1e-6);
  const { targets, frameWidth } = readVmti(vmtiOf(packet) ?? assert.fail());
  assert.deepEqual([targets.length, targets[0]?.id, frameWidth], [1, 7, SIZE.width]);
  // Pixels count from 1, row by row.
  assert.deepEqual([targets[0]?.topLeft, targets[0]?.bottomRight], [24 * 64 + 16 + 1, 36 * 64 + 48 + 1]);
  near((values.frameLatitude ?? 0) + (targets[0]?.latitudeOffset ?? 9), SPOT.latitude, 6e-6);
  near((values.frameLongitude ?? 0) + (targets[0]?.longitudeOffset ?? 9), SPOT.longitude, 6e-6);
}

test("a frame is described by its telemetry and its tracks", () => {
  const captureNs = 1_790_000_000_123_456_000n;
  const klv = describeFrame(captureNs, META, SIZE) ?? assert.fail();
  expectCamera(klv);
  const { values } = readPacket(klv) ?? assert.fail();
  near(Number(values.timeStamp ?? 0n) / 1000 - AHEAD_MS, 1_790_000_000_123.456, 0.01);
  near(toUnixMs(values, null), 1_790_000_000_123.456, 0.2);
});

test("without telemetry there is no packet; without a position no centre of the frame", () => {
  assert.equal(describeFrame(0n, { tracks: META.tracks ?? null }, SIZE), null);
  const klv = describeFrame(0n, { ...META, telemetry: { ...TELEMETRY, position: null } }, SIZE) ?? assert.fail();
  const packet = readPacket(klv) ?? assert.fail();
  assert.deepEqual([packet.values.sensorLatitude, packet.values.frameLatitude], [undefined, undefined]);
  assert.equal(readVmti(vmtiOf(packet) ?? assert.fail()).targets[0]?.latitudeOffset, undefined);
});

function send(url: string, metadata: "synchronous" | "asynchronous", events: GraphEvent[] = []) {
  const marks = marker(() => META);
  const steps = [
    'source: { uri: "test:ball?width=64&height=48&fps=25", pace: realtime }',
    ...["decode", marks.name, "encode: { keyframe-seconds: 0.4 }"],
    `mpegts: { url: "${url}", metadata: ${metadata} }`,
  ];
  const text = `graph: sent\nchains:\n  main:\n${steps.map((step) => `    - ${step}\n`).join("")}`;
  return start(compiledText(text, marks), [marks], { onEvent: (event) => events.push(event) });
}

for (const metadata of ["synchronous", "asynchronous"] as const)
  test(`sends video with ${metadata} metadata of every frame`, async () => {
    const socket = createSocket("udp4");
    after(() => socket.close());
    const watch = new Watch();
    const found: Buffer[] = [];
    const reader = new KlvUnits(({ data, ptsUs, pictureUs }) => {
      assert.ok(ptsUs !== null && (pictureUs === null || ptsUs > pictureUs));
      found.push(data);
    });
    let bytes = 0;
    socket.on("message", (datagram) => {
      assert.ok(datagram.length <= 1316 && datagram.length % 188 === 0);
      bytes += datagram.length;
      reader.push(datagram);
      watch.check();
    });
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    const events: GraphEvent[] = [];
    const graph = await send(`udp://127.0.0.1:${socket.address().port}`, metadata, events);
    await watch.until("metadata", () => found.length >= 20);
    assert.deepEqual(await graph.stop(), { state: "finished", error: null });
    for (const klv of found) expectCamera(klv);
    assert.notEqual(reader.firstPictureUs, null);
    assert.ok(bytes > 5000);
    const reports = events.flatMap((event): readonly ElementEvent[] =>
      event.type === "element" && event.event.type === "output" ? [event.event] : [],
    );
    assert.ok(reports.some(({ status, framesSent }) => status === "live" && Number(framesSent) > 0));
  });

for (const metadata of ["synchronous", "asynchronous"] as const)
  test(`ffmpeg receives video with ${metadata} metadata over encrypted SRT`, async () => {
    const port = await freeUdpPort();
    const file = join(temporaryFolder(), "received.klv");
    const secret = "passphrase=correct-horse-battery";
    const receiving = runProgram("ffmpeg", [
      ...["-v", "error", "-y", "-i", `srt://127.0.0.1:${port}?mode=listener&${secret}`],
      ...["-map", "0:v", "-frames:v", "40", "-f", "null", "-"],
      ...["-map", "0:d", "-c", "copy", "-t", "1.5", "-f", "data", file],
    ]);
    const graph = await send(`srt://127.0.0.1:${port}?streamid=%23!::r=camera&latency=80&${secret}`, metadata);
    const { code, output } = await receiving;
    assert.equal(code, 0, output);
    assert.deepEqual(await graph.stop(), { state: "finished", error: null });
    const bytes = await readFile(file);
    const packets = [...findPackets(bytes)];
    assert.ok(packets.length >= 20, `${packets.length} packets`);
    for (let at = bytes.indexOf(UAS_KEY); at >= 0; at = bytes.indexOf(UAS_KEY, at + 1))
      expectCamera(bytes.subarray(at));
  });
