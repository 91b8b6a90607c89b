import assert from "node:assert/strict";
import { test } from "node:test";
import { Value } from "typebox/value";
import { CameraMotion } from "../../schemas/camera-motion.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { FrameTelemetry, type TelemetrySample } from "../../schemas/telemetry.ts";
import { collector, compiledText, start } from "../../test/graph.fixture.ts";
import { openPan } from "../../vision/scene.fixture.ts";
import type { Frame, Plane, Services } from "../element.ts";
import { TelemetryHandler, type TelemetryProperties } from "./handler.ts";

const START = 1_760_000_000_000;
const PROPERTIES: TelemetryProperties = {
  offsetMs: 0,
  join: "interpolate",
  extrapolateMs: 3000,
  waitMs: 0,
  cameraMotion: true,
};

interface Written {
  readonly telemetry?: FrameTelemetry;
  readonly cameraMotion?: CameraMotion;
}

/** Frames arrive `lateMs` after their capture time. */
function open(given: Partial<TelemetryProperties> = {}, live = true, lateMs = 100) {
  const warned: string[] = [];
  const takers = new Map<string, (message: JsonRecord) => void>();
  const services = {
    job: { live },
    log: { warn: (message: string) => void warned.push(message) },
    listen(channel: string, taker: (message: JsonRecord) => void) {
      takers.set(channel, taker);
      return () => takers.delete(channel);
    },
  } as unknown as Services;
  const clock = { lateMs };
  let nowMs = 0;
  const handler = new TelemetryHandler({ ...PROPERTIES, ...given }, services, () => nowMs);
  const deliver = (message: JsonRecord, channel = "telemetry"): void => takers.get(channel)?.(message);
  const begin = (ms: number, more: Partial<Frame> = {}) => {
    let written: Written = {};
    nowMs = ms + clock.lateMs;
    const frame = {
      captureNs: BigInt(Math.round(ms * 1e3)) * 1000n,
      discontinuity: false,
      format: { caps: "", mediaType: "video/x-raw", pixels: null, width: 640, height: 360, fps: 30 },
      planes: [],
      signal: new AbortController().signal,
      write: (part: Written) => {
        written = part;
        assert.ok(part.telemetry === undefined || Value.Check(FrameTelemetry, part.telemetry));
        assert.ok(part.cameraMotion === undefined || Value.Check(CameraMotion, part.cameraMotion));
      },
      ...more,
    } as Partial<Frame> as Frame;
    const settled = handler.process(frame);
    return { settled, read: () => written };
  };
  const show = (ms: number, more?: Partial<Frame>): Written => begin(ms, more).read();
  return { handler, deliver, begin, show, warned, clock, isListening: () => takers.size > 0 };
}

const sample = (timeMs: number | null, yaw: number, more: Partial<TelemetrySample> = {}): TelemetrySample => ({
  timeMs,
  receivedMs: timeMs,
  hfov: 60,
  vfov: 36,
  position: { latitude: 52, longitude: 5, altitude: 120, relAltitude: 100 },
  attitude: { yaw, pitch: -45, roll: 0 },
  ...more,
});

const near = (actual: number | undefined, expected: number, within = 1e-6): void =>
  assert.ok(Math.abs((actual ?? Number.NaN) - expected) <= within, `${actual} is not ${expected}`);

test("writes nothing without telemetry", () => {
  const { show } = open();
  assert.deepEqual(show(START), {});
});

test("a frame gets the telemetry of its capture time, and the offset used", () => {
  const { deliver, show } = open({ offsetMs: 200 });
  for (const at of [0, 500, 1000]) deliver(sample(START + at, at / 100));
  const { telemetry } = show(START + 450);
  assert.equal(telemetry?.offsetMs, 200);
  assert.equal(telemetry?.ageMs, 250);
  near(telemetry?.attitude?.yaw, 2.5);
});

test("the offset is mutable while PLAYING", () => {
  const { handler, deliver, show } = open();
  for (const at of [0, 500, 1000]) deliver(sample(START + at, at / 100));
  near(show(START + 500).telemetry?.attitude?.yaw, 5);
  handler.update({ ...PROPERTIES, offsetMs: -250 });
  near(show(START + 500).telemetry?.attitude?.yaw, 7.5);
});

test("ignores invalid samples and logs once", () => {
  const { deliver, show, warned } = open();
  for (const junk of [
    {},
    { timestamp: 1 },
    { ...sample(START, 1), hfov: "60" },
    { ...sample(START, 1), timeMs: "now" },
  ])
    deliver(junk as JsonRecord);
  assert.deepEqual(show(START), {});
  assert.equal(warned.length, 1);
});

test("the first message of a file belongs to the first frame, for any clocks", () => {
  for (const live of [false, true]) {
    const { deliver, show } = open({ offsetMs: 100 }, live);
    for (const at of [500, 0, 1000]) deliver(sample(START + at, at / 100, { receivedMs: null }));
    near(show(7_000).telemetry?.attitude?.yaw, -1);
    near(show(7_350).telemetry?.attitude?.yaw, 2.5);
    assert.equal(show(7_350).telemetry?.offsetMs, 100);
  }
});

test("corrects a clock offset of an hour automatically, and follows a clock that was set", () => {
  const { deliver, show, warned } = open({ offsetMs: "auto" });
  const send = (ms: number, clockMs: number) =>
    deliver(sample(START + ms + clockMs, ms / 100, { receivedMs: START + ms + 30 }));
  for (let ms = 0; ms <= 3000; ms += 500) send(ms, -3_600_000);
  near(show(START + 2780).telemetry?.attitude?.yaw, 27.5);
  near(show(START + 2780).telemetry?.offsetMs, 3_600_030);
  for (let ms = 3500; ms <= 6000; ms += 500) send(ms, 0);
  near(show(START + 5750).telemetry?.attitude?.yaw, 57.5);
  assert.match(warned.join(), /clock was set/);
});

test("separates the error of the clocks from the error between samples", () => {
  for (const [offsetMs, angle] of [
    [0, 0.1],
    ["auto", 4],
  ] as const) {
    const { deliver, show } = open({ offsetMs });
    for (const at of [0, 500, 1000]) deliver(sample(START + at, at / 100, { receivedMs: START + at + 60 }));
    const { telemetry } = show(START + 750);
    near(telemetry?.lasting?.angle, angle, 0.01);
    assert.ok((telemetry?.doubt.angle ?? 0) > angle + 0.01);
  }
});

test("distinguishes late from missing position and attitude", () => {
  const seldom = open();
  seldom.deliver(sample(START, 10));
  assert.equal(seldom.show(START + 2000).telemetry?.isLate, undefined);
  const { telemetry } = seldom.show(START + 5000);
  assert.deepEqual([telemetry?.attitude, telemetry?.position, telemetry?.isLate], [null, null, true]);
  const never = open();
  never.deliver(sample(START, 10, { attitude: null, position: null }));
  assert.equal(never.show(START + 5000).telemetry?.isLate, undefined);
});

test("joins a video with its own clock, shared with the telemetry or not", () => {
  const hour = 3_600_000;
  for (const [what, videoBehindMs, behindMs, withinMs] of [
    ["one clock 8 s behind", 8000, 8000, 0],
    ["one clock an hour behind", hour, hour, 0],
    ["one clock an hour ahead", -hour, -hour, 0],
    ["a camera an hour behind", hour, 0, 200],
    ["a camera an hour ahead", -hour, 0, 200],
    ["each its own", hour, -hour, 200],
    ["telemetry a minute behind", 0, 60_000, 60],
  ] as const) {
    const { deliver, show } = open({ offsetMs: "auto" }, true, videoBehindMs + 200);
    for (let ms = 0; ms <= 20_000; ms += 500)
      deliver(sample(START + ms - behindMs, ms / 100, { receivedMs: START + ms + 60 }));
    const { telemetry } = show(START + 15_000 - videoBehindMs);
    const offMs = Math.abs((telemetry?.attitude?.yaw ?? Number.NaN) - 150) * 100;
    assert.ok(offMs <= withinMs + 1, `${what}: off by ${offMs} ms`);
    assert.ok((telemetry?.doubt.angle ?? 0) > 3.9, `${what}: 400 ms of doubt at 10 degrees a second`);
  }
});

test("joins a video that resumed after a pause, with delayed timestamps, by its current arrivals", () => {
  const { handler, deliver, show, clock } = open({ offsetMs: "auto" });
  for (let ms = 0; ms <= 30_000; ms += 500) {
    deliver(sample(START + ms, ms / 200, { receivedMs: START + ms + 60 }));
    if (ms < 10_000) show(START + ms);
  }
  handler.flush();
  clock.lateMs += 15_000;
  near(show(START + 10_000).telemetry?.attitude?.yaw, 125, 1);
});

test("writes the motion of the image since the previous frame, in heights of the frame", () => {
  const { deliver, show } = open();
  for (const at of [0, 250, 500]) deliver(sample(START + at, at / 100));
  assert.equal(show(START + 400).cameraMotion, undefined, "there is no frame before");
  const { cameraMotion } = show(START + 440);
  assert.ok(cameraMotion !== undefined);
  // 0.4 degrees of yaw, seen at 45 degrees down, are 0.0049 radians to the left, of a focal length of 1.54 heights: 0.0076.
  // Points off the middle move faster, by their distance squared: on average over the image by 0.107.
  near(cameraMotion.right + cameraMotion.a * 0.889 - cameraMotion.b * 0.5 - 0.889, -0.0076 * 1.107, 0.0001);
  assert.equal(show(START + 480, { discontinuity: true }).cameraMotion, undefined, "a gap came before");
});

test("a calibration turns the heading from the next frame on, and states its error", () => {
  const { deliver, show } = open();
  const attitude = { yaw: 178, pitch: -30, roll: 2 };
  deliver({ timeMs: null, receivedMs: START, hfov: 60, vfov: 40, position: null, attitude });
  assert.equal(show(START).telemetry?.heading, undefined);
  deliver({ offset: 5, error: 0.7 }, "calibration");
  const { telemetry } = show(START + 40);
  assert.deepEqual(telemetry?.heading, { offset: 5, error: 0.7 });
  const turned = telemetry?.attitude ?? assert.fail();
  for (const [value, expected] of [
    [turned.yaw, -177],
    [turned.pitch, -30],
    [turned.roll, 2],
  ] as const)
    assert.ok(Math.abs(value - expected) < 1e-9, `${value} is not ${expected}`);
  deliver({ offset: "5" }, "calibration");
  deliver({ offset: 0, error: null }, "calibration");
  const back = show(START + 80).telemetry;
  assert.ok(back?.heading === undefined && Math.abs((back?.attitude?.yaw ?? 0) - 178) < 1e-9);
});

test("a sample that corrects an extrapolation is not a motion of the camera", () => {
  const { deliver, show } = open();
  for (const at of [0, 250]) deliver(sample(START + at, at / 25));
  near(show(START + 480).telemetry?.attitude?.yaw, 19.2);
  deliver(sample(START + 500, 10));
  const { telemetry, cameraMotion } = show(START + 500);
  near(telemetry?.attitude?.yaw, 10);
  assert.ok(cameraMotion !== undefined && Math.abs(cameraMotion.right) < 0.01, JSON.stringify(cameraMotion));
});

for (const [what, given, samples] of [
  ["it is not asked for", { cameraMotion: false }, [sample(START + 500, 0), sample(START + 700, 5)]],
  ["samples are used unchanged", { join: "latest" }, [sample(START + 300, 0), sample(START + 500, 5)]],
  ["samples are far apart", {}, [sample(START + 400, 0), sample(START + 900, 9)]],
  [
    "the attitude of the camera is unknown",
    {},
    [sample(START, 0, { attitude: null }), sample(START + 1000, 0, { attitude: null })],
  ],
  ["telemetry is fixed", {}, [sample(null, 5)]],
] as const) {
  test(`does not write the motion of the image if ${what}`, () => {
    const { deliver, show } = open(given);
    for (const one of samples) deliver(one);
    show(START + 600);
    const { telemetry, cameraMotion } = show(START + 640);
    assert.notEqual(telemetry, undefined);
    assert.equal(cameraMotion, undefined);
  });
}

test("does not write the motion of the image while the clock offset is known only by arrivals", () => {
  const { deliver, show } = open({ offsetMs: "auto" });
  for (const at of [0, 500, 1000]) deliver(sample(START + at - 60_000, at / 100, { receivedMs: START + at }));
  show(START + 600);
  const { telemetry, cameraMotion } = show(START + 640);
  near(telemetry?.attitude?.yaw, 6.4);
  assert.equal(cameraMotion, undefined);
});

test("a live frame waits for the next sample, and later frames wait in order", async () => {
  const { handler, deliver, begin } = open({ waitMs: 60_000 / 12 });
  assert.ok((handler.inFlight ?? 0) > 1);
  for (const at of [0, 500]) deliver(sample(START + at, at / 100));
  const first = begin(START + 600);
  const second = begin(START + 900);
  assert.deepEqual([first.read(), second.read()], [{}, {}]);
  deliver(sample(START + 800, 20));
  await first.settled;
  near(first.read().telemetry?.attitude?.yaw, 10);
  assert.equal(first.read().telemetry?.method, "between");
  assert.deepEqual(second.read(), {});
  deliver(sample(START + 1000, 10));
  await second.settled;
  near(second.read().telemetry?.attitude?.yaw, 15);
});

test("a frame whose sample does not arrive in time gets extrapolated telemetry", async () => {
  const { deliver, begin } = open({ waitMs: 1 });
  for (const at of [0, 500]) deliver(sample(START + at, at / 100));
  const { settled, read } = begin(START + 600);
  await settled;
  assert.equal(read().telemetry?.method, "beyond");
});

test("stops waiting when the frame is discarded, the stream ends or the element is closed", async () => {
  const discard = new AbortController();
  for (const [more, stop] of [
    [{ signal: discard.signal }, () => discard.abort()],
    [{}, (handler: TelemetryHandler) => handler.end()],
    [{}, (handler: TelemetryHandler) => handler.flush()],
    [{}, (handler: TelemetryHandler) => handler.close()],
  ] as const) {
    const { handler, deliver, begin } = open({ waitMs: 5000 });
    for (const at of [0, 500]) deliver(sample(START + at, at / 100));
    const { settled } = begin(START + 600, more);
    stop(handler);
    await settled;
    handler.close();
  }
});

test("does not wait for recordings, or if no sample can be expected", () => {
  const recording = open({ waitMs: 5000 }, false);
  const silent = open({ waitMs: 5000 });
  for (const { deliver } of [recording, silent]) for (const at of [0, 500]) deliver(sample(START + at, at / 100));
  assert.equal(recording.begin(START + 600).settled, undefined);
  assert.equal(silent.begin(START + 4000).settled, undefined);
});

test("close unsubscribes from telemetry", () => {
  const { handler, isListening } = open();
  assert.ok(isListening());
  handler.close();
  assert.ok(!isListening());
});

test("finds the clock offset by the rotation of the image, deterministically", () => {
  const [width, height] = [320, 180];
  const furthest = 400;
  const scene = openPan(width, height, furthest);
  const focal = width / 2 / Math.tan(Math.PI / 6);
  /** Shift of the scene to the right in pixels after some seconds, and the yaw that causes it. */
  const swing = (seconds: number): number => Math.round(120 * Math.sin(seconds * 0.8) + 40 * Math.sin(seconds * 2.1));
  const yaw = (seconds: number): number => (-swing(seconds) / focal) * (180 / Math.PI);
  const run = (aheadMs: number): number | undefined => {
    const { deliver, show } = open({ offsetMs: "auto" }, false);
    const format = { caps: "", mediaType: "video/x-raw", pixels: "I420", width, height, fps: 10 };
    for (let ms = 0; ms <= 20_000; ms += 250) {
      const attitude = { yaw: yaw((ms + aheadMs) / 1000), pitch: 0, roll: 0 };
      deliver(
        sample(START + ms, 0, {
          receivedMs: null,
          position: null,
          attitude,
          vfov: 2 * Math.atan((Math.tan(Math.PI / 6) * 9) / 16) * (180 / Math.PI),
        }),
      );
    }
    let offsetMs: number | undefined;
    for (let ms = 0; ms <= 14_000; ms += 100)
      offsetMs = show(ms, { format, planes: [scene(swing(ms / 1000)) as Plane] }).telemetry?.offsetMs;
    return offsetMs;
  };
  near(run(180), 180, 25);
  assert.equal(run(180), run(180));
  near(run(0), 0, 25);
});

test("in a graph, samples arrive before the first frame", async () => {
  const seen: Written[] = [];
  const text = `
graph: joined
about: Frames with telemetry.
chains:
  main:
    - source: { uri: "test:ball?width=320&height=180&frames=5" }
    - decode
    - telemetry: { offset-ms: 0 }
    - collect
`;
  const collect = collector((frame) => void seen.push(frame.meta as Written));
  const samples = [0, 250, 500].map((at) => sample(START + at, at / 100, { receivedMs: null }));
  const deliver = samples.map((message) => ({ channel: "telemetry", message }));
  const graph = await start(compiledText(text, collect), [collect], { deliver });
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  assert.equal(seen.length, 5);
  assert.ok(seen.every(({ telemetry }) => telemetry?.method === "between"));
  near(seen[0]?.telemetry?.attitude?.yaw, 0);
  assert.deepEqual(
    seen.map(({ cameraMotion }) => cameraMotion !== undefined),
    [false, true, true, true, true],
  );
});
