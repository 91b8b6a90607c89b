import assert from "node:assert/strict";
import test from "node:test";
import type { Format } from "./frame.ts";
import { aliveCounts } from "./handlers.ts";
import { build, counter, element, ending, gate, I420, NO_HANG, never, pictures, play } from "./pipeline.fixture.ts";

/** Records every call of its handler. */
function noting(kind: "transform" | "sink", calls: string[]): string {
  return element(
    ({ node }) => {
      calls.push(`start ${node}`);
      return {
        process: (frame) => void calls.push(`frame ${frame.index}`),
        format: (format) => void calls.push(`format ${format.width}x${format.height} ${format.pixels} ${format.fps}`),
        flush: () => void calls.push("flush"),
        end: () => void calls.push("end"),
        close: () => void calls.push("close"),
      };
    },
    { kind },
  );
}
const LIFE = ["start it", "format 64x48 I420 30", "frame 0", "frame 1", "end", "close"];

test("calls create, format, process, end and close of a transform in this order", NO_HANG, async () => {
  const calls: string[] = [];
  await play({ ...pictures(2), it: [noting("transform", calls)], out: ["fakesink"] });
  assert.deepEqual(calls, LIFE);
  assert.equal(aliveCounts().instances, 0);
});

test("calls the same methods of a sink", NO_HANG, async () => {
  const calls: string[] = [];
  await play({ ...pictures(2), it: [noting("sink", calls)] });
  assert.deepEqual(calls, LIFE);
});

test("awaits asynchronous methods one after the other", NO_HANG, async () => {
  const calls: string[] = [];
  const slowly = (name: string) => async () => {
    calls.push(`${name} begins`);
    await new Promise((resolve) => setImmediate(resolve));
    calls.push(`${name} ends`);
  };
  const it = element(async () => {
    await slowly("start")();
    return {
      format: slowly("format"),
      process: async () => void (await slowly("frame")()),
      end: slowly("end"),
      close: slowly("close"),
    };
  });
  await play({ ...pictures(1), it: [it], out: ["fakesink"] });
  const expected = ["start", "format", "frame", "end", "close"].flatMap((name) => [`${name} begins`, `${name} ends`]);
  assert.deepEqual(calls, expected);
});

test("calls format before the first frame with a new format", NO_HANG, async () => {
  const seen: string[] = [];
  const changed = gate();
  const small = counter();
  const it = element(() => ({
    format: (format: Format) => void seen.push(`format ${format.width}`),
    process: (frame) => {
      const width = frame.planes[0]?.width;
      seen.push(`frame ${width}`);
      assert.equal(frame.format.width, width);
      if (width === 64) small.add();
      else changed.open();
    },
  }));
  const pipeline = await build({
    source: ["videotestsrc"],
    format: ["capsfilter", { caps: I420 }],
    it: [it],
    out: ["fakesink"],
  });
  await pipeline.setState("PLAYING");
  await small.reached(3);
  await pipeline.set("format", { caps: I420.replace("64", "32") });
  await changed.opened;
  await pipeline.close();
  const turn = seen.indexOf("format 32");
  assert.equal(seen[0], "format 64");
  assert.deepEqual([...new Set(seen.slice(1, turn))], ["frame 64"]);
  assert.deepEqual([...new Set(seen.slice(turn + 1))], ["frame 32"]);
});

test("does not pass on a dropped frame", NO_HANG, async () => {
  const indexes: number[] = [];
  const filter = element(() => ({ process: (frame) => (frame.index % 3 === 0 ? undefined : "drop") }));
  const out = element(() => ({ process: (frame) => void indexes.push(Number(frame.ptsNs)) }), { kind: "sink" });
  await play({ ...pictures(10), filter: [filter], out: [out] });
  assert.deepEqual(
    indexes.map((ptsNs) => Math.round((ptsNs * 30) / 1e9)),
    [0, 3, 6, 9],
  );
});

test("a seek discards the current frame, calls flush and continues at the new position", NO_HANG, async () => {
  const calls: string[] = [];
  const held = gate<AbortSignal>();
  const after = gate<bigint | null>();
  let flushed = false;
  const it = element(() => ({
    process: (frame) => {
      if (flushed) return after.open(frame.ptsNs);
      if (frame.index < 2) return;
      held.open(frame.signal);
      return never;
    },
    flush: () => {
      flushed = true;
      calls.push("flush");
    },
    close: () => void calls.push("close"),
  }));
  const pipeline = await build({ ...pictures(1000), it: [it], out: ["fakesink"] });
  await pipeline.setState("PLAYING");
  const signal = await held.opened;
  assert.equal(signal.aborted, false);
  await pipeline.seek(20_000_000_000n);
  assert.equal(await after.opened, 20_000_000_000n);
  assert.equal(signal.aborted, true);
  await pipeline.close();
  assert.deepEqual(calls, ["flush", "close"]);
});

for (const kind of ["transform", "sink"] as const)
  test(`stopping a ${kind} whose handler never settles aborts its frame and closes it once`, NO_HANG, async () => {
    const held = gate<AbortSignal>();
    let closes = 0;
    const it = element(
      () => ({
        process: (frame) => {
          held.open(frame.signal);
          return never;
        },
        close: () => {
          closes += 1;
        },
      }),
      { kind },
    );
    const pipeline = await build({ ...pictures(100), it: [it], ...(kind === "transform" && { out: ["fakesink"] }) });
    await pipeline.setState("PLAYING");
    const signal = await held.opened;
    await pipeline.close();
    assert.equal(signal.aborted, true);
    assert.equal(closes, 1);
    assert.deepEqual(aliveCounts(), { metadata: 0, calls: 0, instances: 0 });
  });

test(
  "a pause does not discard the frame in a sink's handler, and playing continues with the next",
  NO_HANG,
  async () => {
    const held = gate();
    const release = gate();
    const indexes: number[] = [];
    const out = element(
      () => ({
        process: async (frame) => {
          if (frame.index === 3) {
            held.open();
            await release.opened;
            assert.equal(frame.signal.aborted, false);
          }
          indexes.push(frame.index);
        },
      }),
      { kind: "sink" },
    );
    const pipeline = await build({ ...pictures(8), out: [out] });
    await pipeline.setState("PLAYING");
    await held.opened;
    await pipeline.setState("PAUSED");
    release.open();
    await pipeline.setState("PLAYING");
    assert.equal((await ending(pipeline)).type, "eos");
    await pipeline.close();
    assert.deepEqual(indexes, [0, 1, 2, 3, 4, 5, 6, 7]);
  },
);

test("closes an element that goes back to READY, and starts it again when it plays", NO_HANG, async () => {
  const calls: string[] = [];
  const pipeline = await build({ ...pictures(2), it: [noting("transform", calls)], out: ["fakesink"] });
  await pipeline.setState("PLAYING");
  await ending(pipeline);
  await pipeline.setState("READY");
  await pipeline.setState("PLAYING");
  await ending(pipeline);
  await pipeline.close();
  assert.deepEqual(calls, [...LIFE, ...LIFE]);
});

test("delivers encoded images as bytes, with media type and size", NO_HANG, async () => {
  const formats: Format[] = [];
  const starts: number[][] = [];
  const out = element(
    () => ({
      format: (format: Format) => void formats.push(format),
      process: (frame) => {
        const [bytes] = frame.planes;
        starts.push([...(bytes?.data.subarray(0, 2) ?? []), frame.planes.length]);
        assert.deepEqual(frame.copy(), Uint8Array.from(bytes?.data ?? []));
      },
    }),
    { kind: "sink", caps: "image/jpeg" },
  );
  await play({ ...pictures(2), encoder: ["jpegenc"], out: [out] });
  const { mediaType, pixels, width, height } = formats[0] ?? assert.fail("no format");
  assert.deepEqual(
    { mediaType, pixels, width, height },
    { mediaType: "image/jpeg", pixels: null, width: 64, height: 48 },
  );
  assert.deepEqual(starts, [
    [0xff, 0xd8, 1],
    [0xff, 0xd8, 1],
  ]);
});
