import assert from "node:assert/strict";
import { test } from "node:test";
import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import type { JsonRecord } from "../schemas/json.ts";
import type { SoundMessage } from "../schemas/sound.ts";
import { SoundUnits } from "./sound-units.ts";

const TRACKS: Tracks = {
  video: { codec: "h264", sets: [], width: 160, height: 120, reorders: false },
  audio: null,
};
/** AAC LC, mono. */
const CONFIGS = { 48000: "EYg=", 44100: "Egg=" } as const;
type Rate = keyof typeof CONFIGS;
const FRAME_MS = { 48000: (1024 * 1000) / 48_000, 44100: (1024 * 1000) / 44_100 } as const;
const START_MS = 1_800_000_000_000;
/** Of pictures. */
const STEP_MS = 40;

/** Pictures and sound of a source, as an output receives them; `delayMs`: how late the pictures are. */
class Scene {
  readonly units: AccessUnit[] = [];
  tracks: Tracks | null = null;
  readonly sound: SoundUnits;
  #deliver: (message: JsonRecord) => void = () => assert.fail("no listener");

  constructor() {
    this.sound = new SoundUnits({
      listen: (_, handle) => {
        this.#deliver = handle;
        return () => {};
      },
    });
  }

  receive(message: SoundMessage): void {
    this.#deliver({ ...message });
  }

  receiveUntil(ms: number, { from = 0, rate = 48_000 as Rate, clock = (at: number) => at } = {}): void {
    for (let at = from; at < ms; at += FRAME_MS[rate])
      this.receive({ captureMs: START_MS + clock(at), config: CONFIGS[rate], data: "AAAA" });
  }

  show(from: number, until: number, clock = (at: number) => at): void {
    for (let at = from; at < until; at += STEP_MS) {
      const unit: AccessUnit = {
        kind: "video",
        ...{ dtsUs: at * 1000, ptsUs: at * 1000, captureMs: START_MS + clock(at), isKey: at % 1000 === 0, parts: [] },
      };
      const { units, tracks } = this.sound.join(unit, TRACKS);
      this.units.push(...units);
      if (units.length > 0) this.tracks = tracks;
    }
  }

  get audio(): readonly AccessUnit[] {
    return this.units.filter(({ kind }) => kind === "audio");
  }
}

for (const rate of [48_000, 44_100] as const)
  test(`frames of ${rate} Hz have the times of their samples, and the capture time of the pictures beside them`, () => {
    const scene = new Scene();
    scene.receiveUntil(10_000, { rate });
    scene.show(0, 10_000);
    assert.equal(scene.tracks?.audio?.sampleRate, rate);
    assert.ok(scene.audio.length > 9900 / FRAME_MS[rate]);
    for (const [index, { ptsUs, dtsUs, captureMs }] of scene.audio.entries()) {
      assert.equal(ptsUs, dtsUs);
      assert.ok(Math.abs(ptsUs - index * FRAME_MS[rate] * 1000) < 2, `${index}: ${ptsUs}`);
      assert.ok(Math.abs(captureMs - START_MS - ptsUs / 1000) < 0.01);
    }
  });

test("a clock that drifts is followed without a gap, and never goes back", () => {
  const other = new Scene();
  // 0.05 %, and 20 ms of jitter.
  const clock = (at: number): number => at * 1.0005 + 20 * Math.sin(at);
  for (let at = 0; at < 60_000; at += 1000) {
    other.receiveUntil(at + 1000, { from: Math.ceil(at / FRAME_MS[48_000]) * FRAME_MS[48_000], clock });
    other.show(at, at + 1000);
  }
  const steps = other.audio.slice(1).map(({ ptsUs }, index) => ptsUs - (other.audio[index]?.ptsUs ?? 0));
  assert.ok(Math.min(...steps) > 20_000 && Math.max(...steps) < 23_000, `${Math.min(...steps)} ${Math.max(...steps)}`);
  const { ptsUs = 0 } = other.audio.at(-1) ?? {};
  assert.ok(ptsUs > 59_880_000 && ptsUs < 60_020_000, `${ptsUs}`);
});

test("sound continues in step after a gap, and repeated frames are left out", () => {
  const scene = new Scene();
  scene.receiveUntil(2000);
  scene.receiveUntil(5000, { from: 3000 });
  scene.receiveUntil(5000, { from: 4000 });
  scene.show(0, 6000);
  const times = scene.audio.map(({ ptsUs }) => ptsUs / 1000);
  assert.ok(times.every((at, index) => index === 0 || at > (times[index - 1] ?? 0)));
  assert.ok(times.every((at) => at < 2001 || at >= 3000));
  assert.ok(times.some((at) => Math.abs(at - 3000) < 1) && (times.at(-1) ?? 0) < 5100);
});

test("the first picture waits for sound that is late, and the connection begins with both", () => {
  const scene = new Scene();
  scene.show(0, 1000);
  assert.equal(scene.units.length, 0);
  scene.receiveUntil(3000, { from: 900 });
  scene.show(1000, 3000);
  assert.deepEqual([scene.units[0]?.kind, scene.units[0]?.ptsUs], ["video", 1_000_000]);
  assert.notEqual(scene.tracks?.audio, null);
  assert.equal(scene.sound.detail, null);
});

test("without sound, or with another codec, the video is sent alone and the reason is known", () => {
  const silent = new Scene();
  silent.show(0, 4000);
  assert.deepEqual([silent.units[0]?.ptsUs, silent.tracks?.audio], [2_000_000, null]);
  assert.equal(silent.sound.detail, "without sound: the source has no sound");
  const other = new Scene();
  other.receive({ unsupported: "PCMU" });
  other.show(0, 1000);
  assert.equal(other.units[0]?.ptsUs, 0);
  assert.equal(other.sound.detail, "without sound: the source sends PCMU; only AAC is passed on");
});

test("sound that begins later, or changes, is in the tracks from the next keyframe on", () => {
  const scene = new Scene();
  scene.show(0, 2500);
  const before = scene.tracks;
  scene.receiveUntil(4000, { from: 2500 });
  scene.show(2520, 3000);
  assert.equal(scene.tracks, before);
  scene.show(3000, 4000);
  assert.equal(scene.tracks?.audio?.sampleRate, 48_000);
  assert.equal(scene.sound.detail, null);
  scene.receiveUntil(6000, { from: 4000, rate: 44_100 });
  scene.show(4000, 6000);
  assert.equal(scene.tracks?.audio?.sampleRate, 44_100);
});
