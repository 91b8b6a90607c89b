import assert from "node:assert/strict";
import { test } from "node:test";
import { collector, compiledLaunch, start } from "../../test/graph.fixture.ts";
import type { Frame } from "../element.ts";
import { AccessUnits } from "./access-units.ts";

interface Coded {
  readonly bytes: Uint8Array;
  readonly ptsNs: bigint | null;
}

/** Output of the `encode` element. */
async function encode(
  size: string,
  frames: number,
  encoder = "encode keyframe-seconds=0.4",
): Promise<readonly Coded[]> {
  const coded: Coded[] = [];
  const element = collector((frame: Frame) => coded.push({ bytes: frame.copy(), ptsNs: frame.ptsNs }));
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
