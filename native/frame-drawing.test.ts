import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import type { LooseShape, NativeFrame } from "./frame.ts";
import { build, gate, NO_HANG, pictures, play, sink, transform } from "./pipeline.fixture.ts";

const GREY = { pattern: "solid-color", "foreground-color": 0xff808080 };
const caps = (pixels: string) => `video/x-raw,format=${pixels},width=64,height=48,framerate=30/1`;

/** The luma pixels that a handler changes, as `x,y`. */
async function changedBy(process: (frame: NativeFrame) => unknown, pixels = "I420"): Promise<Set<string>> {
  const changed = new Set<string>();
  let before = new Uint8Array();
  const draw = transform(
    async (frame) => {
      before = frame.copy() as Uint8Array<ArrayBuffer>;
      await process(frame);
    },
    { access: "write" },
  );
  const look = sink((frame) => {
    frame.copy().forEach((value, at) => {
      if (at < 64 * 48 && value !== before[at]) changed.add(`${at % 64},${Math.floor(at / 64)}`);
    });
  });
  await play({ ...pictures(1, caps(pixels), GREY), draw: [draw], look: [look] });
  return changed;
}

const rectangle = (left: number, top: number, right: number, bottom: number): string[] =>
  Array.from({ length: (right - left) * (bottom - top) }, (_, at) => {
    return `${left + (at % (right - left))},${top + Math.floor(at / (right - left))}`;
  });

for (const pixels of ["I420", "NV12"]) {
  test(`a fill colours only its own pixels of ${pixels}`, NO_HANG, async () => {
    const fill = { kind: "fill", x: 10, y: 8, width: 20, height: 12, colour: 0xff0000, opacity: 1 };
    const changed = await changedBy((frame) => frame.draw([fill]), pixels);
    assert.deepEqual(changed, new Set(rectangle(10, 8, 30, 20)));
  });

  test(`a box on ${pixels} colours its outline only`, NO_HANG, async () => {
    const box = { kind: "box", x: 10, y: 8, width: 20, height: 12, colour: 0x0000ff, thickness: 2 };
    const changed = await changedBy((frame) => frame.draw([box]), pixels);
    const inside = new Set(rectangle(12, 10, 28, 18));
    assert.deepEqual(changed, new Set(rectangle(10, 8, 30, 20).filter((pixel) => !inside.has(pixel))));
  });
}

test("a line and a text colour pixels at their position", NO_HANG, async () => {
  const within = (changed: Set<string>, area: readonly string[]) => {
    assert.ok(changed.size > 0);
    const allowed = new Set(area);
    for (const pixel of changed) assert.ok(allowed.has(pixel), pixel);
  };
  const points = [
    [10, 10],
    [40, 30],
  ];
  const line = { kind: "line", points, colour: 0, thickness: 2, opacity: 1 };
  within(await changedBy((frame) => frame.draw([line])), rectangle(8, 8, 42, 32));
  const text = { kind: "text", x: 4, y: 6, text: "Ab", size: 16, colour: 0xffffff };
  within(await changedBy((frame) => frame.draw([text])), rectangle(4, 6, 4 + 2 * 12, 6 + 20));
});

test("a dashed box has corners and gaps", NO_HANG, async () => {
  const box = { kind: "box", x: 8, y: 8, width: 40, height: 32, colour: 0x0000ff, thickness: 2 };
  const solid = await changedBy((frame) => frame.draw([box]));
  const dashed = await changedBy((frame) => frame.draw([{ ...box, dash: 4 }]));
  for (const pixel of dashed) assert.ok(solid.has(pixel), pixel);
  for (const corner of ["8,8", "47,8", "8,39", "47,39"]) assert.ok(dashed.has(corner), corner);
  assert.ok(dashed.size > solid.size * 0.4 && dashed.size < solid.size * 0.75, `${dashed.size} of ${solid.size}`);
  const short = { ...box, width: 6, height: 6, dash: 40 };
  assert.deepEqual(
    await changedBy((frame) => frame.draw([short])),
    new Set(rectangle(8, 8, 14, 14).filter((pixel) => !rectangle(10, 10, 12, 12).includes(pixel))),
  );
});

/** Luma of a grey frame after drawing black on it. */
async function lumaAfter(shape: LooseShape): Promise<(x: number, y: number) => number> {
  let luma = new Uint8Array();
  const draw = transform((frame) => frame.draw([shape]), { access: "write" });
  const look = sink((frame) => {
    luma = frame.copy() as Uint8Array<ArrayBuffer>;
  });
  await play({ ...pictures(1, caps("I420"), GREY), draw: [draw], look: [look] });
  return (x, y) => luma[y * 64 + x] ?? Number.NaN;
}

test("half the opacity changes pixels by half", NO_HANG, async () => {
  for (const shape of [
    { kind: "box", x: 4, y: 4, width: 40, height: 30, thickness: 6, colour: 0 },
    { kind: "text", x: 4, y: 4, text: " ", size: 32, colour: 0, background: 0 },
    { kind: "fill", x: 4, y: 4, width: 40, height: 30, colour: 0 },
  ]) {
    const [none, half, all] = await Promise.all(
      [0, 0.5, 1].map(async (opacity) => (await lumaAfter({ ...shape, opacity }))(6, 6)),
    );
    assert.ok(Math.abs((none ?? 0) + (all ?? 0) - 2 * (half ?? 0)) <= 2, `${shape.kind}: ${none}, ${half}, ${all}`);
    assert.ok((none ?? 0) - (all ?? 0) > 80);
  }
});

test("the opacity of a line grows from its start to its end", NO_HANG, async () => {
  const points = Float32Array.of(4, 20, 20, 20, 32, 20, 60, 20);
  const at = await lumaAfter({ kind: "line", points, colour: 0, thickness: 6, opacity: 1, start: 0 });
  const along = [6, 16, 26, 36, 46, 56].map((x) => at(x, 20));
  assert.deepEqual(
    along,
    along.toSorted((a, b) => b - a),
  );
  const grey = at(2, 2);
  assert.ok(grey - (along[0] ?? 0) < 12 && (along[5] ?? 255) < 32, along.join(", "));
});

test("draws letters of other alphabets, and a box for unknown ones", NO_HANG, async () => {
  const draw = (text: string) =>
    changedBy((frame) => frame.draw([{ kind: "text", x: 0, y: 0, text, size: 30, colour: 0xffffff }]));
  const [cyrillic, greek, other, nothing, latin] = await Promise.all(
    ["Ж", "Ω", "\u{10ffff}", "\u0301\u200b", "X"].map(draw),
  );
  for (const pixels of [cyrillic, greek, other]) assert.ok((pixels?.size ?? 0) > 20);
  assert.notDeepEqual(cyrillic, greek);
  assert.notDeepEqual(cyrillic, other);
  assert.equal(nothing?.size, 0, "marks alone have no place");
  const marked = await draw("\u0301X");
  assert.deepEqual(marked, latin);
});

test("clips shapes far outside of the frame", NO_HANG, async () => {
  const far = 1e300;
  const changed = await changedBy((frame) =>
    frame.draw([
      { kind: "fill", x: -5, y: -5, width: 7, height: 7, colour: 0, opacity: 1 },
      { kind: "box", x: 60, y: 44, width: far, height: far, colour: 0, thickness: 3 },
      { kind: "fill", x: far, y: -far, width: 1, height: 1, colour: 0, opacity: 1 },
      { kind: "text", x: -far, y: 1e9, text: "x".repeat(5000), size: 1e9, colour: 0, background: 0 },
      { kind: "line", points: [[-far, -far]], colour: 0, thickness: 1, opacity: 1 },
    ]),
  );
  assert.ok(rectangle(0, 0, 2, 2).every((pixel) => changed.has(pixel)));
  assert.ok(!changed.has("30,20"));
});

for (const [behaviour, shape, message] of [
  ["an unknown shape", { kind: "star" }, /expected a shape of kind box, fill, line, text or hide, got "star"/],
  ["a NaN coordinate", { kind: "fill", x: Number.NaN, opacity: 1 }, /shape 0 \(fill\): expected a finite/],
  [
    "a block without size",
    { kind: "hide", width: 8, height: 8, block: 0 },
    /\(hide\): expected a number above 0 as block/,
  ],
  ["too much opacity", { kind: "fill", width: 1, height: 1, opacity: 2 }, /a number from 0 to 1 as opacity, got 2/],
] as const)
  test(`rejects ${behaviour} and draws nothing`, NO_HANG, async () => {
    const changed = await changedBy((frame) => assert.rejects(frame.draw([shape]), message));
    assert.equal(changed.size, 0);
  });

test("rejects drawing in an element without write access", NO_HANG, async () => {
  const draw = transform((frame) => assert.rejects(frame.draw([]), /must be defined with access: "write" to draw/));
  await play({ ...pictures(1), draw: [draw], out: ["fakesink"] });
});

test("completes a drawing that is not awaited before the frame is passed on", NO_HANG, async () => {
  const fill = { kind: "fill", x: 0, y: 0, width: 64, height: 48, colour: 0, opacity: 1 };
  const changed = await changedBy((frame) => {
    void frame.draw([fill]);
  });
  assert.equal(changed.size, 64 * 48);
});

test("reports a failed drawing that is not awaited as a fault, and passes the frame on", NO_HANG, async () => {
  const faults: Error[] = [];
  const draw = transform((frame) => void frame.draw([{ kind: "fill", opacity: 9 }]), { access: "write", faults });
  await play({ ...pictures(2), draw: [draw], out: ["fakesink"] });
  assert.equal(faults.length, 2);
  assert.match(faults[0]?.message ?? "", /opacity/);
});

test("rejects orders of a discarded frame, without unhandled rejections", NO_HANG, async () => {
  const fill = { kind: "fill", x: 0, y: 0, width: 64, height: 48, colour: 0, opacity: 1 };
  for (let round = 0; round < 20; round += 1) {
    const faults: Error[] = [];
    const closing = gate();
    const rejected = gate<unknown>();
    const draw = transform(
      async (frame) => {
        if (frame.index < round) return;
        closing.open();
        for (;;) {
          void frame.draw([fill]);
          await frame.draw([fill]).catch((error: unknown) => {
            rejected.open(error);
            throw error;
          });
        }
      },
      { access: "write", faults },
    );
    const pipeline = await build({ ...pictures(-1), draw: [draw], out: ["fakesink"] });
    await pipeline.setState("PLAYING");
    await closing.opened;
    await pipeline.close();
    assert.match(String(await rejected.opened), /the frame (was discarded|is no longer valid)/);
    assert.deepEqual(faults, []);
  }
});

for (const [type, decoder] of [
  ["image/png", "pngdec"],
  ["image/jpeg", "jpegdec"],
] as const)
  test(`encodes a frame as ${type} that decodes to the same picture`, NO_HANG, async () => {
    const folder = await mkdtemp(join(tmpdir(), "windhover-picture-"));
    try {
      let luma = new Uint8Array();
      let picture = new Uint8Array();
      const take = sink(async (frame) => {
        luma = frame.copy().slice(0, 64 * 48) as Uint8Array<ArrayBuffer>;
        picture = (await frame.image(type)) as Uint8Array<ArrayBuffer>;
      });
      await play({ ...pictures(1, caps("I420"), { pattern: "smpte" }), take: [take] });
      await writeFile(join(folder, "picture"), picture);
      let worst = 256;
      const compare = sink((frame) => {
        assert.deepEqual([frame.format.width, frame.format.height], [64, 48]);
        const found = frame.copy();
        // Away from edges, where chroma and compression blur.
        worst = Math.max(...[4, 13, 22, 31].map((x) => Math.abs((found[64 * 10 + x] ?? 0) - (luma[64 * 10 + x] ?? 0))));
      });
      await play({
        file: ["filesrc", { location: join(folder, "picture") }],
        decoder: [decoder],
        convert: ["videoconvert"],
        pixels: ["capsfilter", { caps: "video/x-raw,format=I420" }],
        compare: [compare],
      });
      assert.ok(worst <= 8, `off by ${worst}`);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

test("rejects an unknown image type", NO_HANG, async () => {
  const take = sink((frame) => assert.rejects(frame.image("image/none" as "image/png"), /./));
  await play({ ...pictures(1), take: [take] });
});
