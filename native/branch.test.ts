import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { framesOf, H264, withFolder } from "./film.fixture.ts";
import { aliveCounts } from "./handlers.ts";
import {
  build,
  chain,
  counter,
  element,
  ending,
  gate,
  I420,
  NO_HANG,
  never,
  pictures,
  type Steps,
  sink,
  transform,
} from "./pipeline.fixture.ts";
import type { Pipeline } from "./pipeline.ts";

/** A playing main chain with a tee; counts its frames. */
async function playing(
  count = -1,
  properties = {},
): Promise<{ pipeline: Pipeline; main: ReturnType<typeof counter>; seen: number[] }> {
  const main = counter();
  const seen: number[] = [];
  const out = sink((frame) => {
    seen.push(Math.round((Number(frame.ptsNs) * 30) / 1e9));
    main.add();
  });
  const pipeline = await build({
    ...pictures(count, I420, properties),
    frames: ["tee", { "allow-not-linked": true }],
    q: ["queue", { "max-size-buffers": 4 }],
    out: [out],
  });
  await pipeline.setState("PLAYING");
  await main.reached(3);
  return { pipeline, main, seen };
}
/** A live source on a busy machine skips what it is late for at its start. */
const gapless = ([first = 0, ...others]: readonly number[]) =>
  assert.deepEqual(
    others,
    others.map((_, index) => first + 1 + index),
  );
const attach = (pipeline: Pipeline, name: string, steps: Steps) =>
  pipeline.addBranch(name, { from: "frames", to: `${name}-q` }, chain({ [`${name}-q`]: ["queue"], ...steps }));

test("attaches and removes branches without losing a frame of the main chain", NO_HANG, async () => {
  const { pipeline, main, seen } = await playing();
  for (let round = 0; round < 15; round += 1) {
    const branch = counter();
    const ends: string[] = [];
    const out = element(
      () => ({
        process: () => branch.add(),
        end: () => void ends.push("end"),
        close: () => void ends.push("close"),
      }),
      { kind: "sink" },
    );
    await attach(pipeline, "b", { "b-out": [out] });
    await branch.reached(2);
    await pipeline.removeBranch("b");
    assert.deepEqual(ends, ["end", "close"]);
    await main.reached(main.count + 2);
  }
  assert.doesNotMatch(await pipeline.dot(), /b-q|b-out/);
  await pipeline.close();
  gapless(seen);
  assert.deepEqual(aliveCounts(), { metadata: 0, calls: 0, instances: 0 });
});

test("several branches receive the same frames, with metadata by reference", NO_HANG, async () => {
  const { pipeline, seen } = await playing();
  const arrived = counter();
  const marked = transform((frame) => frame.write({ at: frame.index }));
  for (const name of ["a", "b", "c"])
    await attach(pipeline, name, {
      [`${name}-mark`]: [marked],
      [`${name}-out`]: [
        sink((frame) => {
          assert.equal(frame.meta.at, frame.index);
          if (frame.index === 10) arrived.add();
        }),
      ],
    });
  await arrived.reached(3);
  await pipeline.removeBranch("b");
  await pipeline.close();
  gapless(seen);
});

test("a recording in a branch is complete when the branch is removed", NO_HANG, async () => {
  await withFolder(async (folder) => {
    const { pipeline, main, seen } = await playing(-1, { "is-live": true });
    const fragmented = { "fragment-duration": 200, streamable: true };
    const record = (name: string, muxer: Record<string, string | number | boolean>): Steps => ({
      [`${name}-encoder`]: H264.encoder as [string, Record<string, string | number | boolean>],
      [`${name}-parser`]: ["h264parse"],
      [`${name}-muxer`]: ["mp4mux", muxer],
      [`${name}-file`]: ["filesink", { location: join(folder, `${name}.mp4`) }],
    });
    await attach(pipeline, "plain", record("plain", {}));
    await attach(pipeline, "parts", record("parts", fragmented));
    await main.reached(main.count + 12);
    await pipeline.removeBranch("plain");
    await pipeline.removeBranch("parts");
    await pipeline.close();
    gapless(seen);
    for (const name of ["plain", "parts"]) {
      const frames = await framesOf(join(folder, `${name}.mp4`));
      assert.ok(frames.length >= 10, `${frames.length} frames in ${name}.mp4`);
    }
  });
});

test(
  "rejects a branch that does not start with the reason, without effect on the main chain and the bus",
  NO_HANG,
  async () => {
    const { pipeline, main, seen } = await playing();
    const errors: string[] = [];
    const reading = (async () => {
      for await (const message of pipeline.messages()) if (message.type === "error") errors.push(message.message);
    })();
    const explode = element(() => {
      throw new Error("no model");
    });
    const rejections: [Steps, RegExp][] = [
      [{ "b-work": [explode], "b-out": ["fakesink"] }, /branch "b" does not start: b-work: no model/],
      [
        { "b-file": ["filesink", { location: "/nowhere/at/all" }] },
        /branch "b" does not start: b-file: Could not open/,
      ],
      [{ "b-out": ["nosuchthing"] }, /b-out: unknown GStreamer element/],
      [{ "b-voice": ["audioconvert"], "b-out": ["fakesink"] }, /branch "b" does not accept the output of "frames"/],
    ];
    for (const [steps, message] of rejections) {
      await assert.rejects(attach(pipeline, "b", steps), message);
      await main.reached(main.count + 3);
    }
    await assert.rejects(
      pipeline.addBranch("b", { from: "missing", to: "b-q" }, chain({ "b-q": ["queue"], "b-out": ["fakesink"] })),
      /no node "missing" to attach to/,
    );
    await assert.rejects(
      pipeline.addBranch("b", { from: "frames", to: "b-other" }, chain({ "b-q": ["queue"], "b-out": ["fakesink"] })),
      /branch "b" must begin with an element that has a sink pad/,
    );
    assert.doesNotMatch(await pipeline.dot(), /branch/);
    assert.equal(await pipeline.get("frames", "num-src-pads"), "1");
    const again = counter();
    await attach(pipeline, "b", { "b-out": [sink(() => again.add())] });
    await again.reached(2);
    await assert.rejects(attach(pipeline, "b", { "b2-out": ["fakesink"] }), /branch "b" is attached already/);
    await assert.rejects(pipeline.removeBranch("c"), /branch "c" is not attached/);
    await pipeline.close();
    await reading;
    gapless(seen);
    assert.deepEqual(errors, []);
  },
);

test("removes a branch after the end of the stream", NO_HANG, async () => {
  const main = counter();
  const pipeline = await build({
    ...pictures(20),
    frames: ["tee"],
    q: ["queue"],
    out: [sink(() => main.add())],
  });
  const branch = counter();
  await attach(pipeline, "b", { "b-out": [sink(() => branch.add())] });
  await pipeline.setState("PLAYING");
  assert.equal((await ending(pipeline)).type, "eos");
  await pipeline.removeBranch("b");
  await pipeline.close();
  assert.deepEqual([main.count, branch.count], [20, 20]);
});

test("removes a branch while paused, with a complete recording", NO_HANG, async () => {
  await withFolder(async (folder) => {
    const location = join(folder, "paused.mp4");
    const { pipeline, main, seen } = await playing();
    await attach(pipeline, "b", {
      "b-encoder": ["x264enc", { tune: "zerolatency", "speed-preset": "ultrafast" }],
      "b-muxer": ["mp4mux"],
      "b-file": ["filesink", { location }],
    });
    await main.reached(main.count + 20);
    await pipeline.setState("PAUSED");
    await pipeline.removeBranch("b");
    const before = main.count;
    await pipeline.setState("PLAYING");
    await main.reached(before + 5);
    await pipeline.close();
    gapless(seen);
    assert.ok((await framesOf(location)).length > 0);
  });
});

test("cuts off a stuck branch after its limit, and the blocked main chain continues", NO_HANG, async () => {
  const { pipeline, main, seen } = await playing();
  const held = gate<AbortSignal>();
  const stuck = sink((frame) => {
    held.open(frame.signal);
    return never;
  });
  await pipeline.addBranch(
    "b",
    { from: "frames", to: "b-q" },
    chain({ "b-q": ["queue", { "max-size-buffers": 1, "max-size-time": 0, "max-size-bytes": 0 }], "b-out": [stuck] }),
  );
  const signal = await held.opened;
  await assert.rejects(pipeline.removeBranch("b", 100), /did not end within 100 ms and was cut off/);
  assert.equal(signal.aborted, true);
  await main.reached(main.count + 10);
  await pipeline.close();
  gapless(seen);
});

test("closes while a stuck branch is being removed", NO_HANG, async () => {
  const { pipeline } = await playing();
  const held = gate();
  const stuck = sink(() => {
    held.open();
    return never;
  });
  await attach(pipeline, "b", { "b-out": [stuck] });
  await held.opened;
  const removed = pipeline.removeBranch("b", 60_000).catch((error: Error) => error);
  await pipeline.close();
  await removed;
  assert.deepEqual(aliveCounts(), { metadata: 0, calls: 0, instances: 0 });
});

test("attaches branches before the pipeline plays", NO_HANG, async () => {
  const branch = counter();
  const pipeline = await build({ ...pictures(5), frames: ["tee"], q: ["queue"], out: ["fakesink"] });
  await attach(pipeline, "b", { "b-out": [sink(() => branch.add())] });
  await pipeline.setState("PLAYING");
  await ending(pipeline);
  await pipeline.close();
  assert.equal(branch.count, 5);
});
