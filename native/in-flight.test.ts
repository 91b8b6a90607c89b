import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { NativeFrame } from "./frame.ts";
import { aliveCounts } from "./handlers.ts";
import {
  build,
  counter,
  element,
  ending,
  gate,
  I420,
  NO_HANG,
  never,
  pictures,
  play,
  sink,
  transform,
} from "./pipeline.fixture.ts";

const nothingIsLeft = () => assert.deepEqual(aliveCounts(), { metadata: 0, calls: 0, instances: 0 });
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};
const frameOf = (frame: NativeFrame) => Math.round((Number(frame.ptsNs) * 30) / 1e9);

test("passes frames on in order, with at most `inFlight` at once", NO_HANG, async () => {
  const run = async (inFlight: number, delays: readonly number[], drops: readonly boolean[]) => {
    let atWork = 0;
    let most = 0;
    const left: number[] = [];
    const work = transform(
      async (frame) => {
        atWork += 1;
        most = Math.max(most, atWork);
        await turns(delays[frame.index] ?? 0);
        atWork -= 1;
        frame.write({ index: frame.index });
        return drops[frame.index] ? "drop" : undefined;
      },
      { inFlight },
    );
    const look = sink((frame) => {
      assert.equal(frame.meta.index, frameOf(frame));
      left.push(frameOf(frame));
    });
    await play({ ...pictures(delays.length), work: [work], look: [look] });
    assert.deepEqual(
      left,
      delays.map((_, index) => index).filter((index) => !drops[index]),
    );
    assert.ok(most <= inFlight, `${most} at once`);
  };
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 2, max: 9 }),
      fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 40 }),
      fc.array(fc.boolean(), { maxLength: 20 }),
      run,
    ),
    { numRuns: 25 },
  );
  nothingIsLeft();
});

test("processes `inFlight` frames before the first has settled", NO_HANG, async () => {
  const started = counter();
  const release = gate();
  const work = transform(
    async () => {
      started.add();
      await release.opened;
    },
    { inFlight: 5 },
  );
  const pipeline = await build({ ...pictures(20), work: [work], out: ["fakesink"] });
  await pipeline.setState("PLAYING");
  await started.reached(5);
  await turns(20);
  assert.equal(started.count, 5);
  release.open();
  assert.equal((await ending(pipeline)).type, "eos");
  await pipeline.close();
  assert.equal(started.count, 20);
});

test("tags do not wait for frames in flight", NO_HANG, async () => {
  const started = counter();
  const release = gate();
  const seen: number[] = [];
  const retag = transform((frame) => pipeline.set("tags", { tags: `title=part-${frame.index}` }));
  const work = transform(
    async () => {
      started.add();
      await release.opened;
    },
    { inFlight: 9 },
  );
  const look = sink((frame) => seen.push(frameOf(frame)));
  const pipeline = await build({
    ...pictures(20),
    retag: [retag],
    tags: ["taginject", { tags: "title=before" }],
    work: [work],
    look: [look],
  });
  await pipeline.setState("PLAYING");
  await started.reached(4);
  release.open();
  assert.equal((await ending(pipeline)).type, "eos");
  await pipeline.close();
  assert.deepEqual(
    seen,
    Array.from({ length: 20 }, (_, index) => index),
  );
  nothingIsLeft();
});

test("a handler may reduce `inFlight`, but not exceed that of its element", NO_HANG, async () => {
  for (const [wanted, most] of [
    [2, 2],
    [1, 1],
    [50, 5],
  ] as const) {
    const started = counter();
    const release = gate();
    const process = async () => {
      started.add();
      await release.opened;
    };
    const work = element(() => ({ process, inFlight: wanted }), { inFlight: 5 });
    const pipeline = await build({ ...pictures(20), work: [work], out: ["fakesink"] });
    await pipeline.setState("PLAYING");
    await started.reached(most);
    await turns(20);
    assert.equal(started.count, most);
    release.open();
    assert.equal((await ending(pipeline)).type, "eos");
    await pipeline.close();
    assert.equal(started.count, 20);
  }
});

test("limits large frames in flight by their bytes", NO_HANG, async () => {
  const caps = "video/x-raw,format=I420,width=3840,height=2160,framerate=30/1";
  const fit = Math.floor((256 * 2 ** 20) / (3840 * 2160 * 1.5));
  const started = counter();
  const release = gate();
  const work = transform(
    async () => {
      started.add();
      await release.opened;
    },
    { inFlight: 64 },
  );
  const pipeline = await build({ ...pictures(fit + 4, caps), work: [work], out: ["fakesink"] });
  await pipeline.setState("PLAYING");
  await started.reached(fit);
  await turns(20);
  assert.equal(started.count, fit);
  release.open();
  assert.equal((await ending(pipeline)).type, "eos");
  await pipeline.close();
  assert.equal(started.count, fit + 4);
});

test("the end of stream waits for the frames before it", NO_HANG, async () => {
  const calls: string[] = [];
  const work = element(
    () => ({
      process: async (frame) => {
        await turns(10 - frame.index);
        calls.push(`frame ${frame.index}`);
      },
      end: () => void calls.push("end"),
    }),
    { inFlight: 10 },
  );
  const out = element(
    () => ({ process: (f) => void calls.push(`out ${f.index}`), end: () => void calls.push("out end") }),
    {
      kind: "sink",
    },
  );
  await play({ ...pictures(6), work: [work], out: [out] });
  assert.equal(calls.indexOf("end"), calls.length - 2);
  assert.equal(calls.at(-1), "out end");
  assert.deepEqual(
    calls.filter((call) => call.startsWith("out ")),
    ["out 0", "out 1", "out 2", "out 3", "out 4", "out 5", "out end"],
  );
});

test("a new format waits for the frames of the old one", NO_HANG, async () => {
  const widths: number[] = [];
  const old = counter();
  const changed = gate();
  const work = element(
    () => ({
      format: ({ width }) => void widths.push(-width),
      process: async (frame) => {
        const before = frame.format.width;
        await turns(frame.index % 7);
        assert.equal(frame.format.width, before);
        assert.equal(frame.planes[0]?.width, before);
        widths.push(before);
        if (before === 64) old.add();
        else changed.open();
      },
    }),
    { inFlight: 6 },
  );
  const pipeline = await build({
    source: ["videotestsrc"],
    format: ["capsfilter", { caps: I420 }],
    work: [work],
    out: [sink((frame) => assert.equal(frame.planes[0]?.width, frame.format.width))],
  });
  await pipeline.setState("PLAYING");
  await old.reached(20);
  await pipeline.set("format", { caps: I420.replace("64", "32") });
  await changed.opened;
  await pipeline.close();
  const turn = widths.indexOf(-32);
  assert.equal(widths[0], -64);
  assert.deepEqual(new Set(widths.slice(1, turn)), new Set([64]));
  assert.deepEqual(new Set(widths.slice(turn + 1)), new Set([32]));
});

test("an error passes on the frames before it and discards those after it", NO_HANG, async () => {
  const left: number[] = [];
  const aborted: number[] = [];
  const started = counter();
  const work = transform(
    async (frame) => {
      frame.signal.addEventListener("abort", () => aborted.push(frame.index));
      started.add();
      if (frame.index === 4) {
        await started.reached(6); // else no frame would be discarded
        throw new Error("the fifth");
      }
      if (frame.index > 4) return never;
      await turns(8);
    },
    { inFlight: 8 },
  );
  const look = sink((frame) => void left.push(frameOf(frame)));
  const pipeline = await build({ ...pictures(50), work: [work], look: [look] });
  await pipeline.setState("PLAYING");
  const end = await ending(pipeline);
  await pipeline.close();
  assert.equal(end.type === "error" && end.message, "the fifth");
  assert.deepEqual(left, [0, 1, 2, 3]);
  assert.ok(aborted.includes(5) && !aborted.includes(3), String(aborted));
  nothingIsLeft();
});

test("a flush discards all frames in flight", NO_HANG, async () => {
  const atWork = counter();
  const signals: AbortSignal[] = [];
  const left: number[] = [];
  const after = gate();
  let flushed = false;
  const work = element(
    () => ({
      process: (frame) => {
        if (flushed) return;
        signals.push(frame.signal);
        atWork.add();
        return never;
      },
      flush: () => {
        flushed = true;
      },
    }),
    { inFlight: 4 },
  );
  const look = sink((frame) => {
    left.push(frameOf(frame));
    if (left.length === 5) after.open();
  });
  const pipeline = await build({ ...pictures(10_000), work: [work], look: [look] });
  await pipeline.setState("PLAYING");
  await atWork.reached(4);
  await pipeline.seek(100_000_000_000n);
  await after.opened;
  await pipeline.close();
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, true, true, true],
  );
  assert.deepEqual(left.slice(0, 5), [3000, 3001, 3002, 3003, 3004]);
  nothingIsLeft();
});

test("seeks at any moment keep the order and the end of stream, and leak nothing", NO_HANG, async () => {
  const left: number[] = [];
  const work = transform(async (frame) => turns(frame.index % 5), { inFlight: 5 });
  const look = sink((frame) => void left.push(frameOf(frame)));
  const pipeline = await build({ ...pictures(60), work: [work], look: [look] });
  await pipeline.setState("PLAYING");
  for (let round = 0; round < 40; round += 1) {
    await turns(round % 4);
    left.length = 0;
    await pipeline.seek(BigInt(round) * 10_000_000n);
  }
  assert.equal((await ending(pipeline)).type, "eos");
  await pipeline.close();
  assert.deepEqual(
    left,
    [...left].sort((a, b) => a - b),
  );
  assert.equal(new Set(left).size, left.length);
  nothingIsLeft();
});

test("a downstream error discards frames in flight and rejects their orders", NO_HANG, async () => {
  const orders = counter();
  const rejected = counter();
  const full = gate();
  const work = transform(
    async (frame) => {
      if (frame.index === 0) {
        await full.opened;
        return;
      }
      orders.add();
      if (frame.index === 3) full.open();
      for (;;) {
        await frame.tensor(new Uint8Array(12), { width: 2, height: 2 }).catch((error) => {
          rejected.add();
          throw error;
        });
      }
    },
    { inFlight: 4 },
  );
  const out = sink(() => {
    throw new Error("no more");
  });
  const pipeline = await build({ ...pictures(100), work: [work], out: [out] });
  await pipeline.setState("PLAYING");
  const end = await ending(pipeline);
  assert.equal(end.type === "error" && end.message, "no more");
  await rejected.reached(3);
  await pipeline.close();
  nothingIsLeft();
});

test("closes at any moment", NO_HANG, async () => {
  for (let round = 0; round < 40; round += 1) {
    const work = transform(
      async (frame) => {
        await turns((frame.index * 7) % 5);
        void frame.tensor(new Uint8Array(12), { width: 2, height: 2 });
        frame.write({ index: frame.index });
      },
      { inFlight: 6 },
    );
    const pipeline = await build({ ...pictures(-1), work: [work], more: [work], look: [sink(() => turns(1))] });
    const playing = pipeline.setState("PLAYING");
    if (round % 4 !== 0) await playing;
    await turns(round);
    await Promise.all([playing.catch(() => {}), pipeline.close()]);
  }
  nothingIsLeft();
});

test("executes orders of several frames while their handlers wait", NO_HANG, async () => {
  const done: number[] = [];
  const work = transform(
    async (frame) => {
      const target = new Float32Array(12);
      await frame.tensor(target, { width: 2, height: 2, fit: "stretch", layout: "nhwc", colours: "rgb" });
      await turns(frame.index % 3);
      await frame.tensor(target, { width: 2, height: 2, fit: "stretch", layout: "nhwc", colours: "rgb" });
      assert.ok(target.some((value) => value > 0));
      done.push(frame.index);
    },
    { inFlight: 4 },
  );
  await play({ ...pictures(30), work: [work], out: ["fakesink"] });
  assert.equal(done.length, 30);
});
