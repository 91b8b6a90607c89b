import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { type KlvCarriage, MediaError } from "../access-unit.ts";
import { type ClipOptions, makeClip } from "../mp4/clip.fixture.ts";
import { cutClip } from "../mp4/clip.ts";
import { hashClip, hashPictures, probePackets } from "../mp4/decode.fixture.ts";
import { record } from "../mp4/recorded.fixture.ts";
import { toTransportStream } from "./from-recording.ts";
import { type KlvUnit, KlvUnits } from "./klv-units.ts";

const folder = temporaryFolder();
const klvOf = (index: number): Buffer =>
  Buffer.concat([Buffer.from("060e2b34020b01010e01030101000000", "hex"), Buffer.alloc(1 + index * 7, index)]);

/** A recorded clip with a unit of metadata before every picture. */
function recordWithKlv(carriage: KlvCarriage, options: ClipOptions) {
  const clip = makeClip({ seconds: 2, ...options });
  let count = 0;
  const units = clip.units.map((unit) =>
    unit.kind === "audio" ? unit : { ...unit, klv: [{ ptsUs: unit.ptsUs, data: klvOf(count++) }] },
  );
  const [file] = record({ ...clip, tracks: { ...clip.tracks, klv: carriage }, units }, 60);
  return { clip, units, file: file ?? assert.fail() };
}

async function remux(file: Parameters<typeof toTransportStream>[0]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of toTransportStream(file)) pieces.push(piece);
  return Buffer.concat(pieces);
}

for (const [name, carriage, options] of [
  ["H.264 with B-frames and audio", "synchronous", { bFrames: 2, hasAudio: true }],
  ["H.265", "asynchronous", { codec: "h265", bFrames: 2 }],
] as const)
  test(`a recording of ${name} becomes a transport stream with its ${carriage} metadata`, async () => {
    const { clip, units, file } = recordWithKlv(carriage, options);
    const ts = await remux(file);
    const name = join(folder, `${carriage}.ts`);
    writeFileSync(name, ts);
    assert.deepEqual(hashPictures(name), hashClip(clip));
    const sounds = clip.units.length - clip.pictures;
    assert.equal(probePackets(name).filter(({ codec_type }) => codec_type === "audio").length, sounds);
    const found: KlvUnit[] = [];
    const reader = new KlvUnits((unit) => found.push(unit));
    reader.push(ts);
    reader.end();
    const pictures = units.filter(({ kind }) => kind === "video");
    const firstUs = Math.min(...pictures.map(({ ptsUs }) => ptsUs));
    const sent = pictures.map(({ ptsUs }, index) => ({ ptsUs, data: klvOf(index) }));
    const byTime = (a: { ptsUs: number | null }, b: { ptsUs: number | null }) => (a.ptsUs ?? 0) - (b.ptsUs ?? 0);
    const zeroUs = reader.firstPictureUs ?? assert.fail();
    assert.equal(found.length, sent.length);
    for (const [index, { ptsUs, data }] of found.toSorted(byTime).entries()) {
      const expected = sent.toSorted(byTime)[index] ?? assert.fail();
      assert.ok(data.equals(expected.data), `unit ${index}`);
      assert.ok(Math.abs((ptsUs ?? 0) - zeroUs - (expected.ptsUs - firstUs)) <= 12, `${ptsUs}`);
    }
    const types = { synchronous: 0x15, asynchronous: 0x06 };
    assert.ok(ts.subarray(188, 376).includes(Buffer.from([types[carriage], 0xe1, 0x02])), "in its program map");
  });

test("metadata does not change the clips of a recording", async () => {
  const { clip, file } = recordWithKlv("asynchronous", {});
  const [plain] = record(clip, 60);
  const range = { fromMs: file.startedAtMs + 500, toMs: file.startedAtMs + 1500 };
  const [a, b] = await Promise.all([cutClip([file], range), cutClip([plain ?? assert.fail()], range)]);
  assert.deepEqual(a?.head, b?.head);
  assert.equal(a?.bytes, b?.bytes);
});

test("a file that is cut off ends with its last whole fragment, a damaged one is rejected", async () => {
  const { file } = recordWithKlv("asynchronous", {});
  const whole = await remux(file);
  const part = await remux({ ...file, bytes: file.bytes - 100 });
  assert.ok(part.length > 0 && part.length < whole.length);
  assert.ok(whole.subarray(0, part.length).equals(part));
  await assert.rejects(remux({ bytes: 100, read: async (_, bytes) => Buffer.alloc(bytes, 7) }), MediaError);
});
