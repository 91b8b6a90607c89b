import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import fc from "fast-check";
import { H264, withFolder } from "../../native/film.fixture.ts";
import { pictures, play } from "../../native/pipeline.fixture.ts";
import { addKlv, type KlvKind } from "./add-klv.fixture.ts";
import { type KlvUnit, KlvUnits } from "./klv-units.ts";

const LABEL = Buffer.from("060e2b34020b01010e01030101000000", "hex");
/** Of different lengths, also longer than a packet. */
const UNITS = Array.from({ length: 20 }, (_, index) => ({
  seconds: index * 0.1,
  data: Buffer.concat([LABEL, Buffer.alloc(1 + index * 17, index)]),
}));

const TICK_US = 12;

let film: Buffer;
before(async () => {
  film = await withFolder(async (folder) => {
    const file = join(folder, "film.ts");
    await play({ ...pictures(75), ...H264, muxer: ["mpegtsmux"], file: ["filesink", { location: file }] });
    return readFile(file);
  });
});

function read(ts: Buffer, chunk = ts.length): { units: KlvUnit[]; reader: KlvUnits } {
  const units: KlvUnit[] = [];
  const reader = new KlvUnits((unit) => units.push(unit));
  for (let at = 0; at < ts.length; at += chunk) reader.push(ts.subarray(at, at + chunk));
  reader.end();
  return { units, reader };
}

for (const kind of ["synchronous", "asynchronous", "untimed"] as const satisfies readonly KlvKind[])
  test(`finds every unit of ${kind} metadata, whatever the sizes of chunks`, () => {
    const ts = addKlv(film, UNITS, kind);
    for (const chunk of [ts.length, 1000, 188, 61]) {
      const { units, reader } = read(ts, chunk);
      assert.deepEqual(
        units.map(({ data }) => data.toString("hex")),
        UNITS.map(({ data }) => data.toString("hex")),
      );
      const zero = reader.firstPictureUs ?? assert.fail();
      for (const [index, { ptsUs, pictureUs }] of units.entries()) {
        const at = index * 100_000;
        if (kind === "untimed") assert.equal(ptsUs, null);
        else assert.ok(Math.abs((ptsUs ?? 0) - zero - at) <= TICK_US, `${ptsUs}`);
        // The picture before it is up to a frame of 1/30 s earlier, or later where it is the first.
        const early = (pictureUs ?? 0) - zero - at;
        assert.ok(index === 0 || Math.abs(early) <= 33_334 + TICK_US, `${early}`);
      }
    }
  });

test("a stream without metadata has none", () => {
  const { units, reader } = read(film);
  assert.deepEqual([units.length, reader.hasKlv], [0, false]);
  assert.notEqual(reader.firstPictureUs, null);
});

test("times continue where the 33 bits of the clock wrap", () => {
  const ts = Buffer.from(addKlv(film, UNITS, "asynchronous"));
  const zero = Math.round(((read(ts).reader.firstPictureUs ?? assert.fail()) * 9) / 100);
  // All times are moved to just before the wrap.
  const shift = 2 ** 33 - zero - 45_000;
  for (let at = 0; at < ts.length; at += 188) shiftPts(ts.subarray(at, at + 188), shift);
  const { units, reader } = read(ts);
  const first = reader.firstPictureUs ?? assert.fail();
  assert.ok(Math.abs(first - ((2 ** 33 - 45_000) * 100) / 9) <= TICK_US);
  for (const [index, { ptsUs }] of units.entries())
    assert.ok(Math.abs((ptsUs ?? 0) - first - index * 100_000) <= TICK_US, `${ptsUs}`);
});

function shiftPts(packet: Buffer, by: number): void {
  const from = (packet[3] ?? 0) & 0x20 ? 5 + (packet[4] ?? 0) : 4;
  const isStart = ((packet[1] ?? 0) & 0x40) !== 0 && from + 14 <= packet.length && packet.readUIntBE(from, 3) === 1;
  if (!isStart || ((packet[from + 7] ?? 0) & 0x80) === 0) return;
  const [high, middle, low] = [packet[from + 9] ?? 0, packet.readUInt16BE(from + 10), packet.readUInt16BE(from + 12)];
  const pts = (((high >> 1) & 7) * 2 ** 30 + (middle >> 1) * 2 ** 15 + (low >> 1) + by) % 2 ** 33;
  packet[from + 9] = (high & 0xf1) | ((Math.floor(pts / 2 ** 30) & 7) << 1);
  packet.writeUInt16BE(((Math.floor(pts / 2 ** 15) & 0x7fff) << 1) | 1, from + 10);
  packet.writeUInt16BE(((pts % 2 ** 15) << 1) | 1, from + 12);
}

test("a lost packet costs its unit only", () => {
  const ts = addKlv(film, UNITS, "synchronous");
  const packets = Array.from({ length: ts.length / 188 }, (_, index) => ts.subarray(index * 188, (index + 1) * 188));
  const isKlv = (packet: Buffer): boolean => (packet.readUInt16BE(1) & 0x1fff) === 0x1f0;
  const lost = packets.findIndex((packet, index) => isKlv(packet) && index > packets.length / 2);
  const { units } = read(Buffer.concat(packets.filter((_, index) => index !== lost)));
  assert.ok(units.length >= UNITS.length - 2 && units.length < UNITS.length, `${units.length} units`);
});

test("any bytes are read without an exception", () => {
  const good = addKlv(film, UNITS, "synchronous").subarray(0, 188 * 60);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 40 }),
      fc.nat(400),
      (changes, cut) => {
        const bytes = Buffer.from(good);
        for (const [at, value] of changes) bytes[at] = value;
        read(bytes.subarray(cut), 999);
      },
    ),
    { numRuns: 60 },
  );
});
