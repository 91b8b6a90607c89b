import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AccessUnit, Tracks } from "../../media/access-unit.ts";
import type { PacketSet } from "../../media/rtp/sender.ts";
import { squeeze } from "../live-stream.ts";
import { Player, VIDEO } from "./from-stream.ts";
import type { Delivery } from "./transport.ts";

const TRACKS: Tracks = {
  video: { codec: "h264", sets: [Uint8Array.of(0x67), Uint8Array.of(0x68)], width: 2, height: 2, reorders: false },
  audio: null,
};
/** Of the first packet, in the bytes of a connection. */
const PAYLOAD_AT = 4 + 12;
const LIMITS = { readerBytes: 100_000, stalledMs: 1000 };

const picture = (i: number, bytes = 1000): AccessUnit => {
  const isKey = i % 10 === 0;
  const slice = Buffer.alloc(bytes, i & 0xff);
  slice[0] = isKey ? 0x65 : 0x41;
  return { kind: "video", dtsUs: i * 40_000, ptsUs: i * 40_000, captureMs: 0, isKey, parts: [slice] };
};

/** Accepts nothing while it has no room; records the pictures it got by their first payload byte. */
class Gate implements Delivery {
  readonly kind = "tcp";
  hasRoom = true;
  queuedBytes = 0;
  sentBytes = 0;
  readonly given: number[] = [];
  reports = 0;
  channelOf = () => 0;
  bufferFor = () => undefined;
  send(_track: number, { bytes }: PacketSet): void {
    this.given.push(bytes[PAYLOAD_AT + 5] ?? -1);
  }
  sendReport(): void {
    this.reports++;
  }
  close(): void {}
}

function play(cached: readonly AccessUnit[]) {
  const gate = new Gate();
  const player = new Player("a/b", TRACKS, gate, LIMITS);
  player.addTrack(VIDEO, "rtsp://h/a/b/trackID=0");
  player.join((reader) => {
    reader.setTracks(TRACKS);
    for (const unit of cached) reader.push(unit, true);
    return () => {};
  });
  player.start(0);
  return { gate, player };
}

test("limits the queue of a player, and drops pictures up to a keyframe", () => {
  const { gate, player } = play([picture(0)]);
  gate.hasRoom = false;
  for (let i = 1; i <= 205; i++) player.push(picture(i), false);
  gate.hasRoom = true;
  player.flush();
  const given = gate.given.slice(1);
  assert.ok(given.length <= 100, `${given.length} pictures had waited`);
  assert.equal((given[0] ?? -1) % 10, 0);
  assert.deepEqual(
    given,
    Array.from({ length: given.length }, (_, i) => 205 - given.length + 1 + i),
  );
  assert.equal(player.missed, 205 - given.length);
});

test("continues with the next keyframe if the pictures since the last one exceed the limit", () => {
  const { gate, player } = play([picture(0)]);
  gate.hasRoom = false;
  for (let i = 1; i <= 9; i++) player.push(picture(i, 20_000), false);
  gate.hasRoom = true;
  for (let i = 10; i <= 12; i++) player.push(picture(i), false);
  assert.deepEqual(gate.given, [0, 10, 11, 12]);
  assert.equal(player.missed, 9);
});

test("reports a player that accepts nothing as stalled, but not a slow one", () => {
  const { gate, player } = play([picture(0)]);
  const ends: [string, boolean][] = [];
  player.onEnd = (reason, isStalled) => ends.push([reason, isStalled]);
  gate.queuedBytes = 5000;
  for (let nowMs = 0; nowMs <= 5000; nowMs += 500) {
    gate.sentBytes++;
    player.tick(nowMs);
  }
  assert.deepEqual(ends, []);
  for (let nowMs = 5500; nowMs <= 7000; nowMs += 500) player.tick(nowMs);
  assert.deepEqual(ends, [["the player accepted no data for 1 s", true]]);
});

test("sends reports at the start, soon after it, and then every five seconds", () => {
  const { gate, player } = play([picture(0)]);
  assert.equal(gate.reports, 1);
  const times = [0];
  for (let ms = 40; ms <= 30_000; ms += 40) {
    player.push(picture(ms / 40), false);
    player.tick(ms);
    if (gate.reports > times.length) times.push(ms);
  }
  const gaps = times.slice(1).map((ms, index) => ms - (times[index] ?? 0));
  assert.ok((gaps[0] ?? 0) <= 300, String(gaps));
  assert.ok(
    gaps.every((gap, index) => gap >= (gaps[index - 1] ?? 0)),
    String(gaps),
  );
  assert.equal(gaps.at(-1), 5000);
});

test("drops audio that differs from the SDP of the player", () => {
  const audio = { codec: "aac", config: Uint8Array.of(0x12, 0x10), sampleRate: 44_100, channels: 2 } as const;
  const gate = new Gate();
  const player = new Player("a/b", { ...TRACKS, audio }, gate, LIMITS);
  player.addTrack(VIDEO, "v");
  player.addTrack(1, "a");
  player.join((reader) => {
    reader.setTracks({ ...TRACKS, audio });
    reader.push(picture(0), true);
    return () => {};
  });
  player.start(0);
  const sound: AccessUnit = {
    kind: "audio",
    dtsUs: 1,
    ptsUs: 1,
    captureMs: 0,
    isKey: true,
    parts: [Buffer.alloc(10, 77)],
  };
  player.push(sound, false);
  assert.deepEqual(gate.given, [0, 77]);
  player.setTracks({ ...TRACKS, audio: { ...audio, config: Uint8Array.of(0x11, 0x90) } });
  player.push(sound, false);
  assert.deepEqual(gate.given, [0, 77]);
});

test("an audio-only player gets audio, with or without cached pictures", () => {
  const audio = { codec: "aac", config: Uint8Array.of(0x11, 0x90), sampleRate: 48_000, channels: 2 } as const;
  const gate = new Gate();
  const player = new Player("a/b", { ...TRACKS, audio }, gate, LIMITS);
  player.addTrack(1, "rtsp://h/a/b/trackID=1");
  player.join((reader) => {
    reader.setTracks({ ...TRACKS, audio });
    return () => {};
  });
  player.start(0);
  const pushAudio = () =>
    player.push(
      { kind: "audio", dtsUs: 0, ptsUs: 0, captureMs: 0, isKey: true, parts: [new Uint8Array(60_000)] },
      false,
    );
  pushAudio();
  assert.equal(gate.given.length, 1);
  gate.hasRoom = false;
  for (let i = 0; i < 3; i++) pushAudio();
  gate.hasRoom = true;
  pushAudio();
  assert.ok(gate.given.length > 1, "after some was left out, too");
});

const timed = (dtsMs: number, ptsMs = dtsMs): AccessUnit => ({
  kind: "video",
  dtsUs: dtsMs * 1000,
  ptsUs: ptsMs * 1000,
  captureMs: 0,
  isKey: false,
  parts: [],
});

const times = (units: readonly AccessUnit[]) => squeeze(units).map(({ timeUs }) => timeUs / 1000);

test("the last picture keeps its time, those before it are a millisecond apart", () => {
  assert.deepEqual(times([timed(0), timed(40), timed(80), timed(120)]), [117, 118, 119, 120]);
});

test("drops cached audio", () => {
  assert.equal(squeeze([timed(0), { ...timed(1), kind: "audio" }]).length, 1);
});

test("a picture displayed after the live ones keeps its time", () => {
  // I P B B P: the B pictures between the last two P are still to come.
  const units = [timed(0, 80), timed(40, 200), timed(80, 120), timed(120, 160), timed(160, 320)];
  assert.deepEqual(times(units), [158, 200, 159, 160, 320]);
});

test("keeps display order, moves no picture back, and ends just before the live pictures", () => {
  const gaps = fc.array(fc.integer({ min: 2, max: 100 }), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(gaps, fc.array(fc.nat(3), { minLength: 50, maxLength: 50 }), (steps, delays) => {
      let at = 0;
      const units = steps.map((step, i) => {
        at += step;
        return timed(at, at + (delays[i] as number) * 37);
      });
      const squeezed = squeeze(units);
      const shown = (key: (one: (typeof squeezed)[number]) => number) =>
        [...squeezed].sort((a, b) => key(a) - key(b) || a.unit.ptsUs - b.unit.ptsUs).map(({ unit }) => unit.dtsUs);
      assert.deepEqual(
        shown(({ timeUs }) => timeUs),
        shown(({ unit }) => unit.ptsUs),
      );
      const liveUs = at * 1000;
      for (const { unit, timeUs } of squeezed) {
        assert.ok(timeUs >= unit.ptsUs);
        assert.ok(timeUs >= liveUs - units.length * 1000);
      }
    }),
  );
});
