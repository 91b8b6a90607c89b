import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import type { StreamInfo } from "../schemas/hub.ts";
import { StreamRejected } from "./errors.ts";
import type { Reader } from "./live-stream.ts";
import { KeepingReader } from "./reader.fixture.ts";
import { Streams } from "./streams.ts";

const VIDEO = {
  codec: "h264",
  sets: [new Uint8Array(1), new Uint8Array(1)],
  width: 640,
  height: 360,
  reorders: false,
} as const;
const AUDIO = { codec: "aac", config: new Uint8Array(2), sampleRate: 48_000, channels: 2 } as const;
const TRACKS: Tracks = { video: VIDEO, audio: null };
const LIMITS = {
  publishers: 3,
  readersPerStream: 4,
  cacheBytes: 1000,
  keyBytes: 2 ** 30,
  frozenMs: 60_000,
  keylessMs: 60_000,
};

const unit = (kind: AccessUnit["kind"], ms: number, isKey: boolean, bytes = 10): AccessUnit => ({
  kind,
  dtsUs: ms * 1000,
  ptsUs: ms * 1000,
  captureMs: 0,
  isKey,
  parts: [new Uint8Array(bytes)],
});
const key = (ms: number, bytes?: number): AccessUnit => unit("video", ms, true, bytes);
const picture = (ms: number, bytes?: number): AccessUnit => unit("video", ms, false, bytes);
const sound = (ms: number): AccessUnit => unit("audio", ms, true);

function open(t: TestContext, limits: Partial<typeof LIMITS> = {}) {
  const events: string[] = [];
  const logged: string[] = [];
  const clock = { ms: 0, looks: 0 };
  const streams = new Streams(
    { ...LIMITS, ...limits },
    {
      published: ({ path, width, height, hasAudio }: StreamInfo, recording) =>
        events.push(`published ${path} ${width}x${height} ${hasAudio} ${recording}`),
      unpublished: (path, reason) => events.push(`unpublished ${path}: ${reason}`),
    },
    (level, message, fields) => {
      if (level === "info") logged.push(`${message}: ${fields?.path} by ${fields?.protocol}, ${fields?.reason}`);
      else events.push(`${level}: ${message}`);
    },
    () => {
      clock.looks++;
      return clock.ms;
    },
  );
  t.after(() => streams.close("the test is over"));
  return { streams, events, logged, clock };
}

const kindOf = (call: () => unknown): string => {
  try {
    call();
    return "done";
  } catch (error) {
    assert.ok(error instanceof StreamRejected);
    return error.kind;
  }
};

test("a stream is live from its first keyframe, and earlier units are dropped", (t) => {
  const { streams, events } = open(t);
  const publication = streams.publish("a/b", "rtmp", "rec");
  const reader = new KeepingReader();
  assert.equal(
    kindOf(() => streams.read("a/b", reader)),
    "not_live",
  );
  publication.setTracks({ ...TRACKS, audio: AUDIO });
  for (const early of [picture(0), sound(0), picture(40)]) publication.write(early);
  assert.equal(
    kindOf(() => streams.read("a/b", reader)),
    "not_live",
  );
  assert.equal(streams.tracks("a/b"), null);
  assert.deepEqual(events, []);
  publication.write(key(80));
  assert.deepEqual(events, ["published a/b 640x360 true rec"]);
  streams.read("a/b", reader);
  publication.write(sound(90));
  publication.write(picture(120));
  assert.deepEqual(reader.words, ["begin 640x360 with sound", "key 80 cached", "sound 90", "picture 120"]);
  publication.close("gone");
  assert.deepEqual(events.slice(1), ["unpublished a/b: gone"]);
  assert.equal(reader.words.at(-1), "end gone");
  assert.equal(
    kindOf(() => streams.read("a/b", reader)),
    "not_live",
  );
});

test("a new reader gets exactly the units since the last keyframe", (t) => {
  const { streams } = open(t);
  const publication = streams.publish("a/b", "rtmp", null);
  publication.setTracks(TRACKS);
  for (const one of [key(0), picture(40), key(80), picture(120), picture(160)]) publication.write(one);
  const reader = new KeepingReader();
  streams.read("a/b", reader);
  publication.write(picture(200));
  assert.deepEqual(reader.words, [
    "begin 640x360",
    "key 80 cached",
    "picture 120 cached",
    "picture 160 cached",
    "picture 200",
  ]);
});

test("does not cache a GOP above the limit: new readers wait for the next keyframe", (t) => {
  const { streams } = open(t);
  const publication = streams.publish("a/b", "rtmp", null);
  publication.setTracks(TRACKS);
  for (const one of [key(0, 600), picture(40, 600), picture(80, 10)]) publication.write(one);
  const reader = new KeepingReader();
  streams.read("a/b", reader);
  for (const one of [sound(100), picture(120), key(160), picture(200)]) publication.write(one);
  assert.deepEqual(reader.words, ["begin 640x360", "key 160", "picture 200"]);
});

test("streams of one owner share its memory limit, apart from other owners", (t) => {
  const { streams } = open(t, { publishers: 9, keyBytes: 1500 });
  const cachedOf = (path: string): number => {
    const reader = new KeepingReader();
    streams.read(path, reader)();
    return reader.words.length - 1;
  };
  const publish = (path: string) => {
    const publication = streams.publish(path, "rtmp", null);
    publication.setTracks(TRACKS);
    for (const one of [key(0, 400), picture(40, 400)]) publication.write(one);
    return publication;
  };
  const first = publish("a/1");
  publish("b/1");
  assert.deepEqual([cachedOf("a/1"), cachedOf("b/1")], [2, 2]);
  publish("a/2");
  first.write(picture(80, 1));
  assert.deepEqual([cachedOf("a/1"), cachedOf("a/2"), cachedOf("b/1")], [0, 0, 2]);
});

test("a cache of very many small units is bounded too", (t) => {
  const { streams } = open(t, { cacheBytes: 10_000_000 });
  const publication = streams.publish("a/b", "rtmp", null);
  publication.setTracks(TRACKS);
  publication.write(key(0));
  for (let ms = 1; ms < 10_000; ms++) publication.write(picture(ms, 1));
  const reader = new KeepingReader();
  streams.read("a/b", reader);
  assert.deepEqual(reader.words, ["begin 640x360"]);
});

test("readers restart at the next keyframe when the tracks change, without undecodable units", (t) => {
  const { streams } = open(t);
  const publication = streams.publish("a/b", "rtsp", null);
  const reader = new KeepingReader();
  publication.setTracks(TRACKS);
  publication.write(key(0));
  streams.read("a/b", reader);
  publication.setTracks({ video: { ...VIDEO, width: 320, height: 180 }, audio: null });
  for (const one of [picture(40), key(80), picture(120)]) publication.write(one);
  assert.deepEqual(reader.words, ["begin 640x360", "key 0 cached", "begin 320x180", "key 80", "picture 120"]);
  assert.equal(streams.tracks("a/b")?.video.width, 320);
});

test("later audio starts at the next keyframe, and no picture is lost", (t) => {
  const { streams } = open(t);
  const publication = streams.publish("a/b", "rtsp", null);
  const reader = new KeepingReader();
  publication.setTracks(TRACKS);
  publication.write(key(0));
  streams.read("a/b", reader);
  publication.setTracks({ video: VIDEO, audio: AUDIO });
  for (const one of [picture(40), sound(50), key(80), sound(90)]) publication.write(one);
  assert.deepEqual(reader.words.slice(2), ["picture 40", "begin 640x360 with sound", "key 80", "sound 90"]);
});

test("a path has one publisher, and the next one when that has gone", (t) => {
  const { streams } = open(t);
  const first = streams.publish("a/b", "rtmp", null);
  assert.equal(
    kindOf(() => streams.publish("a/b", "rtsp", null)),
    "busy",
  );
  first.close("gone");
  const second = streams.publish("a/b", "rtsp", null);
  // The old one has no say in the new one.
  first.setTracks(TRACKS);
  first.write(key(0));
  first.close("again");
  assert.equal(
    kindOf(() => streams.publish("a/b", "rtsp", null)),
    "busy",
  );
  second.setTracks(TRACKS);
  second.write(key(0));
  assert.equal(streams.list().length, 1);
});

test("publishers and readers are limited", (t) => {
  const { streams } = open(t);
  const [publication] = ["a/1", "a/2", "a/3"].map((path) => streams.publish(path, "rtmp", null));
  assert.equal(
    kindOf(() => streams.publish("a/4", "rtmp", null)),
    "too_many",
  );
  publication?.setTracks(TRACKS);
  publication?.write(key(0));
  const leaves = Array.from({ length: 4 }, () => streams.read("a/1", new KeepingReader()));
  assert.equal(
    kindOf(() => streams.read("a/1", new KeepingReader())),
    "too_many",
  );
  leaves[0]?.();
  leaves[0]?.();
  assert.equal(
    kindOf(() => streams.read("a/1", new KeepingReader())),
    "done",
  );
  assert.equal(
    kindOf(() => streams.read("a/1", new KeepingReader())),
    "too_many",
  );
});

test("removes and logs a reader that throws, without effect on the publisher and others", (t) => {
  const { streams, events } = open(t);
  const publication = streams.publish("a/b", "rtmp", null);
  publication.setTracks(TRACKS);
  publication.write(key(0));
  const fail = (): never => {
    throw new Error("broken");
  };
  const broken: Reader[] = [
    { setTracks: fail, push: () => {}, end: fail },
    { setTracks: () => {}, push: fail, end: () => {} },
    { setTracks: () => {}, push: (_unit, isCached) => (isCached ? undefined : fail()), end: () => {} },
  ];
  const reader = new KeepingReader();
  for (const one of [...broken, reader]) streams.read("a/b", one);
  assert.equal(streams.list()[0]?.readers, 2);
  publication.write(picture(40));
  assert.equal(streams.list()[0]?.readers, 1);
  assert.equal(reader.words.at(-1), "picture 40");
  assert.equal(events.filter((line) => line === "error: reader failed").length, 3);
  streams.read("a/b", { setTracks: () => {}, push: () => {}, end: fail });
  publication.close("gone");
  assert.equal(reader.words.at(-1), "end gone");
});

test("readers can join, leave and close the stream while a unit is distributed, and none gets it twice", (t) => {
  const { streams } = open(t);
  const publication = streams.publish("a/b", "rtmp", null);
  publication.setTracks(TRACKS);
  publication.write(key(0));
  const [late, other] = [new KeepingReader(), new KeepingReader()];
  let leaveOther = (): void => {};
  let hasCome = false;
  streams.read("a/b", {
    setTracks: () => {},
    push: (_unit, isCached) => {
      if (isCached || hasCome) return;
      hasCome = true;
      streams.read("a/b", late);
      leaveOther();
    },
    end: () => {},
  });
  leaveOther = streams.read("a/b", other);
  publication.write(picture(40));
  publication.write(picture(80));
  assert.deepEqual(late.words, ["begin 640x360", "key 0 cached", "picture 40 cached", "picture 80"]);
  assert.deepEqual(other.words, ["begin 640x360", "key 0 cached"]);
  streams.read("a/b", { setTracks: () => {}, push: () => publication.close("by a reader"), end: () => {} });
  publication.write(picture(120));
  assert.equal(late.words.at(-1), "end by a reader");
});

test("closes a publisher without pictures, even if it sends audio", async (t) => {
  const { streams, events, clock } = open(t, { frozenMs: 40 });
  const publication = streams.publish("a/b", "rtmp", null);
  const silent = streams.publish("a/c", "rtmp", null);
  publication.setTracks({ video: VIDEO, audio: AUDIO });
  let isFrozen = false;
  // The clock advances by a millisecond with each one.
  const alive = setInterval(() => {
    clock.ms++;
    publication.write(isFrozen ? sound(clock.ms) : key(clock.ms));
  }, 1);
  t.after(() => clearInterval(alive));
  assert.equal(await silent.ended, "no video received for 0.04 s");
  assert.equal(streams.list().length, 1);
  isFrozen = true;
  assert.equal(await publication.ended, "no video received for 0.04 s");
  assert.deepEqual(events.slice(1), ["unpublished a/b: no video received for 0.04 s"]);
});

test("keeps a publisher that sends pictures without a keyframe for a limited time", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { streams, events, clock } = open(t, { frozenMs: 5000, keylessMs: 30_000 });
  const [begun, waiting] = [streams.publish("a/b", "rtsp", null), streams.publish("a/c", "rtsp", null)];
  begun.setTracks(TRACKS);
  begun.write(key(0));
  const pass = (ms: number) => {
    for (const until = clock.ms + ms; clock.ms < until; ) {
      for (const publication of [begun, waiting]) publication.touch();
      clock.ms += 250;
      t.mock.timers.tick(250);
    }
  };
  pass(20_000);
  assert.equal(streams.list().length, 1);
  begun.write(key(20_000));
  pass(20_000);
  assert.equal(streams.list().length, 1);
  assert.equal(
    kindOf(() => streams.publish("a/c", "rtsp", null)),
    "done",
    "the other never had a keyframe, and has gone",
  );
  pass(20_000);
  assert.deepEqual(events.slice(1), ["unpublished a/b: no keyframe with parameter sets received for 30 s"]);
});

test("closes a frozen publisher at most a quarter of a second late", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { streams, clock } = open(t, { frozenMs: 5000 });
  const publication = streams.publish("a/b", "rtsp", null);
  publication.setTracks(TRACKS);
  const pass = () => {
    clock.ms += 10;
    t.mock.timers.tick(10);
  };
  // Right after a look of the watchdog: the next ones all come too early, up to the last.
  pass();
  const pictureMs = clock.ms;
  publication.write(key(0));
  while (streams.list().length > 0 && clock.ms < 60_000) pass();
  const tookMs = clock.ms - pictureMs;
  assert.ok(tookMs >= 5000 && tookMs <= 5250, `it was let go after ${tookMs} ms`);
});

test("does not close streams for time in which the hub itself was blocked", async (t) => {
  const { streams, clock } = open(t, { frozenMs: 40 });
  const publication = streams.publish("a/b", "rtmp", null);
  publication.setTracks(TRACKS);
  publication.write(key(0));
  clock.ms = 60_000;
  const looks = clock.looks;
  // Until the watchdog has looked, and looked again.
  while (clock.looks < looks + 2) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal(streams.list().length, 1);
});

test("logs the start and end of streams, also of one that was never playable", (t) => {
  const { streams, logged } = open(t);
  const publication = streams.publish("a/b", "rtmp", null);
  publication.setTracks(TRACKS);
  publication.write(key(0));
  publication.close("the SPS is damaged");
  streams.publish("a/c", "rtsp", null).close("it sends nothing");
  assert.deepEqual(logged, [
    "stream started: a/b by rtmp, undefined",
    "stream ended: a/b by rtmp, the SPS is damaged",
    "stream ended: a/c by rtsp, it sends nothing",
  ]);
});

test("expels the publisher and the readers", async (t) => {
  const { streams } = open(t);
  const publication = streams.publish("a/b", "rtmp", null);
  publication.setTracks(TRACKS);
  publication.write(key(0));
  const reader = new KeepingReader();
  streams.read("a/b", reader);
  streams.expel("a/b", "its source is gone");
  streams.expel("a/missing", "nothing");
  assert.equal(await publication.ended, "its source is gone");
  assert.equal(reader.words.at(-1), "end its source is gone");
});

test("counts published, read and missed units, also of readers that have left", (t) => {
  const { streams } = open(t);
  const publication = streams.publish("a/b", "rtmp", null);
  publication.setTracks(TRACKS);
  const [stays, goes] = [new KeepingReader(), new KeepingReader()];
  for (const one of [key(0, 100), picture(40, 20)]) publication.write(one);
  streams.read("a/b", stays);
  const leave = streams.read("a/b", goes);
  stays.missed = 2;
  goes.missed = 3;
  leave();
  const [{ jitterMs, ...counts } = assert.fail()] = streams.list();
  assert.deepEqual(counts, { path: "a/b", pictures: 2, bytes: 120, readers: 1, missed: 5 });
  // Both arrived at once, 40 ms apart by their timestamps: a sixteenth of that.
  assert.equal(jitterMs, 2.5);
});

test("a runner of the server's may pause for any time once it can be played, and takes no place of others", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { streams, events, clock } = open(t, { publishers: 1, frozenMs: 1000, keylessMs: 1000 });
  const own = streams.publish("ann/out", "rtsp", null, true);
  const silent = streams.publish("ann/silent", "rtsp", null, true);
  own.setTracks(TRACKS);
  own.write(key(0));
  assert.equal(
    kindOf(() => streams.publish("ann/cam", "rtsp", null)),
    "done",
  );
  assert.equal(
    kindOf(() => streams.publish("ann/cam-2", "rtsp", null)),
    "too_many",
  );
  for (let passed = 0; passed < 20; passed++) {
    clock.ms += 250;
    t.mock.timers.tick(250);
  }
  assert.deepEqual(
    ["ann/out", "ann/silent", "ann/cam"].map((path) => kindOf(() => streams.publish(path, "rtsp", null, true))),
    ["busy", "done", "done"],
  );
  silent.close("");
  assert.deepEqual(events, ["published ann/out 640x360 false null"]);
});

test("a reader that starts with an open GOP does not get pictures that refer to the previous one", (t) => {
  const { streams } = open(t);
  const publication = streams.publish("a/b", "rtsp", null);
  publication.setTracks(TRACKS);
  const shown = (dtsMs: number, ptsMs: number, isKey = false): AccessUnit => ({
    ...unit("video", dtsMs, isKey),
    ptsUs: ptsMs * 1000,
  });
  const [first, late] = [new KeepingReader(), new KeepingReader()];
  publication.write(shown(0, 80, true));
  streams.read("a/b", first);
  for (const written of [shown(40, 200), shown(80, 120), shown(120, 160), shown(160, 320, true), shown(200, 240)])
    publication.write(written);
  streams.read("a/b", late);
  for (const written of [shown(240, 280), shown(280, 360)]) publication.write(written);
  const shownTo = (reader: KeepingReader) => reader.units.map((taken) => taken.unit.ptsUs / 1000);
  assert.deepEqual(shownTo(first), [80, 200, 120, 160, 320, 240, 280, 360]);
  assert.deepEqual(shownTo(late), [320, 360]);
});
