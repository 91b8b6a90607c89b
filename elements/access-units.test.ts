import assert from "node:assert/strict";
import { test } from "node:test";
import { CODECS } from "../media/codecs.ts";
import { collector, compiledLaunch, start } from "../test/graph.fixture.ts";
import { AccessUnits } from "./access-units.ts";
import type { Frame } from "./element.ts";

interface Coded {
  readonly bytes: Uint8Array;
  readonly ptsNs: bigint | null;
  readonly caps: string;
}

/** Output of the `encode` element. */
async function encode(
  size: string,
  frames: number,
  encoder = "encode keyframe-seconds=0.4",
): Promise<readonly Coded[]> {
  const coded: Coded[] = [];
  const element = collector((frame: Frame) =>
    coded.push({ bytes: frame.copy(), ptsNs: frame.ptsNs, caps: frame.format.caps }),
  );
  const source = `source uri="test:ball?${size}&fps=25&frames=${frames}"`;
  const graph = await start(compiledLaunch(`${source} ! decode ! ${encoder} ! collect`, element), [element]);
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  return coded;
}

const film = await encode("width=64&height=48", 25);
const other = await encode("width=98&height=54", 5);

test("every frame of `encode` is an access unit, keyframes with their parameter sets first", () => {
  const units = new AccessUnits();
  const made = film.map(({ bytes, ptsNs }) => units.make(bytes, ptsNs, 1_500_000n) ?? assert.fail());
  assert.deepEqual(
    made.map(({ unit }) => unit.ptsUs),
    film.map((_, index) => index * 40_000),
  );
  assert.deepEqual(
    made.flatMap(({ unit }, index) => (unit.isKey ? [index] : [])),
    [0, 10, 20],
  );
  for (const { unit } of made) {
    const kinds = unit.parts.map(([header = 0]) => header & 31);
    assert.ok(!kinds.includes(9), "a delimiter");
    assert.deepEqual(
      kinds.filter((kind) => kind === 7 || kind === 8),
      unit.isKey ? [7, 8] : [],
    );
    if (unit.isKey) assert.deepEqual(kinds.slice(0, 2), [7, 8]);
    assert.deepEqual([unit.dtsUs, unit.captureMs], [unit.ptsUs, 1.5]);
  }
  const [first] = made;
  assert.ok(made.every(({ tracks }) => tracks === first?.tracks));
  assert.deepEqual([first?.tracks.video.width, first?.tracks.video.height], [64, 48]);
});

test("H.265: keyframes start with VPS, SPS and PPS, without B-frames", async () => {
  const coded = await encode("width=64&height=48", 25, "encode codec=h265 keyframe-seconds=0.4");
  const units = new AccessUnits();
  units.setFormat(coded[0]?.caps ?? "");
  const made = coded.map(({ bytes, ptsNs }) => units.make(bytes, ptsNs, 0n) ?? assert.fail());
  assert.deepEqual(
    made.flatMap(({ unit }, index) => (unit.isKey ? [index] : [])),
    [0, 10, 20],
  );
  for (const { unit, tracks } of made) {
    const kinds = unit.parts.map((nal) => CODECS.h265.kindOf(nal));
    assert.deepEqual(kinds.slice(0, 3), unit.isKey ? ["vps", "sps", "pps"] : kinds.slice(0, 3));
    assert.ok(kinds.includes("slice") && !kinds.includes("other"));
    assert.equal(unit.dtsUs, unit.ptsUs);
    const { codec, width, height, reorders } = tracks.video;
    assert.deepEqual([codec, width, height, reorders], ["h265", 64, 48, false]);
  }
});

test("starts with a keyframe, also after frames were discarded", () => {
  const units = new AccessUnits();
  const indices = (from: number, to: number) =>
    film.slice(from, to).flatMap(({ bytes, ptsNs }, at) => (units.make(bytes, ptsNs, 0n) === null ? [] : [from + at]));
  assert.deepEqual(indices(5, 12), [10, 11]);
  units.expectKey();
  assert.deepEqual(indices(14, 22), [20, 21]);
});

test("a new frame size starts a new track, which following frames keep", () => {
  const units = new AccessUnits();
  const sizes = [...film.slice(0, 12), ...other, ...film.slice(10)].map(({ bytes }) => {
    const { tracks } = units.make(bytes, null, 0n) ?? assert.fail();
    return tracks;
  });
  assert.equal(new Set(sizes).size, 3);
  assert.deepEqual(
    [...new Set(sizes)].map(({ video }) => video.width),
    [64, 98, 64],
  );
});

test("DTS increase strictly for any input", () => {
  const units = new AccessUnits();
  const given = [5_000_000n, 6_000_000n, 6_000_000n, null, 1_000_000n, 7_000_000n];
  const times = given.map((ptsNs, index) => units.make(film[index]?.bytes ?? assert.fail(), ptsNs, 0n)?.unit.ptsUs);
  assert.deepEqual(times, [0, 1000, 1001, 1002, 1003, 2000]);
});

test("units with lengths get the parameter sets of their format", async () => {
  const coded = await encode(
    "width=64&height=48",
    25,
    'encode keyframe-seconds=0.4 ! h264parse ! "video/x-h264,stream-format=avc"',
  );
  const units = new AccessUnits();
  units.setFormat(coded[0]?.caps ?? "");
  const types = coded.map(({ bytes, ptsNs }) => {
    const { unit, tracks } = units.make(bytes, ptsNs, 0n) ?? assert.fail();
    assert.deepEqual([tracks.video.width, tracks.video.height], [64, 48]);
    return unit.parts.map(([header = 0]) => header & 31);
  });
  assert.deepEqual(
    types.flatMap((kinds, index) => (kinds[0] === 7 && kinds[1] === 8 && kinds.includes(5) ? [index] : [])),
    [0, 10, 20],
  );
  assert.ok(types.every((kinds, index) => index % 10 === 0 || !kinds.includes(7)));
  // The same format again, as after a reconnect: the next picture has to be a keyframe.
  units.setFormat(coded[0]?.caps ?? "");
  assert.equal(units.make(coded[1]?.bytes ?? assert.fail(), 0n, 0n), null);
});

test("a reorder depth that the stream does not state is learnt", () => {
  const units = new AccessUnits();
  const order = [0, 3, 1, 2, 6, 4, 5, 9, 7, 8, 12, 10, 11, 15, 13, 14, 18, 16, 17];
  const made = order.map((shown, index) => {
    const { bytes } = film[index] ?? assert.fail();
    return units.make(bytes, BigInt(shown) * 40_000_000n, 0n)?.unit ?? assert.fail();
  });
  const settled = made.slice(4);
  assert.deepEqual(
    settled.map(({ ptsUs }) => ptsUs - (settled[0]?.ptsUs ?? 0)),
    order.slice(4).map((shown) => (shown - 6) * 40_000),
  );
});

test("streams with B-frames keep their PTS, and DTS follow the order of arrival", async () => {
  const x264 = "x264enc bframes=3 b-adapt=false threads=1 ! h264parse config-interval=-1";
  const format = '"video/x-h264,stream-format=byte-stream,alignment=au"';
  const coded = await encode("width=64&height=48", 25, `${x264} ! ${format}`);
  const units = new AccessUnits();
  const made = coded.map(({ bytes, ptsNs }) => units.make(bytes, ptsNs, 0n) ?? assert.fail());
  const shown = made.map(({ unit }) => unit.ptsUs).toSorted((a, b) => a - b);
  assert.deepEqual(
    shown.map((ptsUs) => ptsUs - (shown[0] ?? 0)),
    coded.map((_, index) => index * 40_000),
  );
  assert.notDeepEqual(
    made.map(({ unit }) => unit.ptsUs),
    shown,
  );
  made.forEach(({ unit, tracks }, index) => {
    assert.ok(unit.dtsUs > (made[index - 1]?.unit.dtsUs ?? -1) && unit.dtsUs <= unit.ptsUs);
    assert.ok(tracks.video.reorders);
  });
});
