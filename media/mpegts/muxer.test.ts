import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { AccessUnits } from "../../elements/access-units.ts";
import { H264, withFolder } from "../../native/film.fixture.ts";
import { pictures, play } from "../../native/pipeline.fixture.ts";
import { writePacket } from "../../telemetry/misb-0601.ts";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import type { AccessUnit, KlvCarriage, Tracks } from "../access-unit.ts";
import { NAL, nalType, splitStartCodes } from "../h264/nal.ts";
import { type KlvUnit, KlvUnits } from "./klv-units.ts";
import { TsMuxer } from "./muxer.ts";

const FRAMES = 60;
const FPS = 30;
const folder = temporaryFolder();
let units: readonly AccessUnit[];
let tracks: Tracks;
/** Of all lengths around the size of packets. */
const klvOf = (index: number): Buffer =>
  writePacket({ timeStamp: BigInt(index), sensorLatitude: index / 10 }, { security: Buffer.alloc(120 + index * 3) });

before(async () => {
  const bytes = await withFolder(async (folder) => {
    const location = join(folder, "film.h264");
    const caps = "video/x-h264,stream-format=byte-stream,alignment=au";
    await play({ ...pictures(FRAMES), ...H264, form: ["capsfilter", { caps }], file: ["filesink", { location }] });
    return readFile(location);
  });
  // One slice per picture.
  const nals = splitStartCodes(bytes);
  const pictureUnits: Uint8Array[][] = [];
  let current: Uint8Array[] = [];
  for (const nal of nals) {
    current.push(nal);
    if (nalType(nal) === NAL.idr || nalType(nal) === 1) {
      pictureUnits.push(current);
      current = [];
    }
  }
  const maker = new AccessUnits();
  units = pictureUnits.map((parts, index) => {
    const coded = Buffer.concat(parts.flatMap((part) => [Buffer.from([0, 0, 0, 1]), part]));
    const made = maker.make(coded, BigInt(Math.round((index * 1e9) / FPS)), 0n) ?? assert.fail();
    tracks = made.tracks;
    return made.unit;
  });
  assert.equal(units.length, FRAMES);
});

function write(carriage: KlvCarriage): Buffer {
  const muxer = new TsMuxer({ ...tracks, klv: carriage });
  const withKlv = (unit: AccessUnit, index: number) => ({ ...unit, klv: [{ ptsUs: unit.ptsUs, data: klvOf(index) }] });
  return Buffer.concat(units.map((unit, index) => muxer.write(withKlv(unit, index))));
}

for (const carriage of ["synchronous", "asynchronous"] as const)
  test(`${carriage} metadata is read back with the times of its pictures`, () => {
    const ts = write(carriage);
    assert.equal(ts.length % 188, 0);
    for (let at = 0; at < ts.length; at += 188) assert.equal(ts[at], 0x47);
    const found: KlvUnit[] = [];
    const reader = new KlvUnits((unit) => found.push(unit));
    reader.push(ts);
    reader.end();
    assert.deepEqual(
      found.map(({ data }) => data.toString("hex")),
      units.map((_, index) => klvOf(index).toString("hex")),
    );
    const zero = reader.firstPictureUs ?? assert.fail();
    for (const [index, { ptsUs }] of found.entries())
      assert.ok(Math.abs((ptsUs ?? 0) - zero - (index * 1e6) / FPS) <= 12, `${ptsUs}`);
  });

test("ffmpeg reads every picture and every unit", { skip: spawnSync("ffmpeg", ["-version"]).status !== 0 }, () => {
  for (const carriage of ["synchronous", "asynchronous"] as const) {
    const file = join(folder, `${carriage}.ts`);
    const metadata = join(folder, `${carriage}.klv`);
    writeFileSync(file, write(carriage));
    const streams = execFileSync("ffprobe", [
      "-v",
      "error",
      "-count_frames",
      "-show_entries",
      "stream=codec_name,nb_read_frames",
      "-of",
      "csv=p=0",
      file,
    ]).toString();
    assert.match(streams, new RegExp(`h264,${FRAMES}`));
    assert.match(streams, /klv/);
    execFileSync("ffmpeg", ["-v", "error", "-y", "-i", file, "-map", "0:d", "-c", "copy", "-f", "data", metadata]);
    const read = execFileSync("cat", [metadata]);
    for (const index of [0, 1, FRAMES - 1])
      assert.ok(read.includes(klvOf(index)), `${carriage}: unit ${index} is missing`);
  }
});

test("GStreamer decodes every picture", async () => {
  const file = join(folder, "gst.ts");
  writeFileSync(file, write("asynchronous"));
  const { framesOf } = await import("../../native/film.fixture.ts");
  assert.equal((await framesOf(file)).length, FRAMES);
});
