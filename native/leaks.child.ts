/** Started by leaks.test.ts: uses every feature once, then GStreamer is deinitialised and reports leaks. */
import { join } from "node:path";
import { framesOf, H264, makeFilm, withFolder } from "./film.fixture.ts";
import { deinitGStreamer, describeFactory, listFactories } from "./gstreamer.ts";
import {
  build,
  chain,
  counter,
  element,
  ending,
  I420,
  never,
  newPipeline,
  pictures,
  play,
  sink,
  transform,
} from "./pipeline.fixture.ts";

const refused = (work: Promise<unknown>) =>
  work.then(
    () => {
      throw new Error("this should have been refused");
    },
    () => {},
  );

/** Frames that are mapped, written, drawn on, encoded, dropped, failed, discarded. */
async function frames(): Promise<void> {
  const fill = [{ kind: "fill", x: 0, y: 0, width: 9, height: 9, colour: 0, opacity: 1 }];
  const work = transform(
    async (frame) => {
      frame.write({ index: frame.index });
      frame.planes[0]?.data.fill(1, 0, 10);
      frame.copy();
      await frame.draw(fill);
      if (frame.index === 2) await frame.image("image/png");
      void frame.image("image/jpeg").catch(() => {});
      await frame.tensor(new Float32Array(48), { width: 4, height: 4 });
      return frame.index === 3 ? "drop" : undefined;
    },
    { access: "write", inFlight: 3 },
  );
  await play({ ...pictures(8, I420), work: [work], scale: ["videoscale"], out: [sink(({ planes }) => planes.length)] });
  const explode = transform(() => {
    throw new Error("on purpose");
  });
  await refused(play({ ...pictures(5), explode: [explode], out: ["fakesink"] }));
  for (const inFlight of [1, 3]) {
    const started = counter();
    const hang = transform(
      (frame) => {
        started.add();
        return frame.planes.length > 0 ? never : undefined;
      },
      { inFlight },
    );
    const pipeline = await build({ ...pictures(-1), hang: [hang], out: ["fakesink"] });
    await pipeline.setState("PLAYING");
    await started.reached(inFlight);
    await pipeline.seek(1_000_000_000n);
    await started.reached(inFlight + 1);
    await pipeline.close();
  }
}

async function pipelines(film: string): Promise<void> {
  await framesOf(film);
  await newPipeline().close();
  for (const steps of [
    { source: ["videotestsrc"], out: ["nosuchthing"] },
    { source: ["videotestsrc", { pattern: "plaid" }], out: ["fakesink"] },
    { source: ["videotestsrc"], voice: ["audioconvert"], out: ["fakesink"] },
    { file: ["filesrc", { location: "/nowhere" }], out: ["fakesink"] },
  ] as const)
    await refused(play(steps));
  await refused(play({ ...pictures(1), it: [element(() => Promise.reject(new Error("no")))], out: ["fakesink"] }));
  const late = await build({ ...pictures(1), it: [element(() => never)], out: ["fakesink"] });
  const playing = refused(late.setState("PLAYING"));
  await late.close();
  await playing;
  await refused(late.set("it", { on: true }));

  const pipeline = await build({
    ...pictures(60),
    work: [transform(() => {})],
    tee: ["tee"],
    q: ["queue"],
    out: ["fakesink"],
  });
  pipeline.tap("work", () => {});
  pipeline.meter("all", "work", "q");
  pipeline.limit("source", { frames: 40 });
  const picture = pipeline.grab("work", 500_000_000n, "image/jpeg");
  void pipeline.grab("work", 500_000_000_000n, "image/jpeg");
  await pipeline.setState("PLAYING");
  await picture;
  await Promise.all([
    pipeline.position(),
    pipeline.duration(),
    pipeline.latency(),
    pipeline.dot(),
    pipeline.get("q", "leaky"),
  ]);
  await pipeline.set("q", { leaky: "downstream" });
  await ending(pipeline);
  pipeline.meters(["all"]);
  await Promise.all([pipeline.close(), refused(pipeline.dot()), refused(pipeline.set("q", { leaky: "no" }))]);
}

async function branches(folder: string): Promise<void> {
  const main = counter();
  const pipeline = await build({
    ...pictures(-1),
    tee: ["tee"],
    q: ["queue", { "max-size-buffers": 3 }],
    out: [sink(() => main.add())],
  });
  await pipeline.setState("PLAYING");
  const queue = (name: string) => ({ [name]: ["queue", { "max-size-buffers": 1 }] as const });
  for (let round = 0; round < 3; round += 1) {
    const seen = counter();
    const steps = { ...queue("b-q"), "b-out": [sink(() => seen.add())] } as const;
    await pipeline.addBranch("b", { from: "tee", to: "b-q" }, chain(steps));
    await seen.reached(2);
    await pipeline.removeBranch("b");
  }
  const file = { muxer: ["mp4mux"], file: ["filesink", { location: join(folder, "branch.mp4") }] } as const;
  await pipeline.addBranch("film", { from: "tee", to: "f-q" }, chain({ ...queue("f-q"), ...H264, ...file }));
  await refused(
    pipeline.addBranch("bad", { from: "tee", to: "x-q" }, chain({ ...queue("x-q"), "x-out": ["audioconvert"] })),
  );
  const explode = element(() => {
    throw new Error("on purpose");
  });
  await refused(pipeline.addBranch("bad", { from: "tee", to: "x-q" }, chain({ ...queue("x-q"), "x-out": [explode] })));
  await pipeline.setState("PAUSED");
  await pipeline.removeBranch("film");
  await pipeline.setState("PLAYING");
  const held = counter();
  const stuck = sink(() => {
    held.add();
    return never;
  });
  await pipeline.addBranch("stuck", { from: "tee", to: "s-q" }, chain({ ...queue("s-q"), "s-out": [stuck] }));
  await held.reached(1);
  await refused(pipeline.removeBranch("stuck", 50));
  await pipeline.addBranch("left", { from: "tee", to: "l-q" }, chain({ ...queue("l-q"), "l-out": ["fakesink"] }));
  await main.reached(main.count + 5);
  await pipeline.close();
}

async function relays(): Promise<void> {
  const arrived = counter();
  const lasting = await build({
    in: ["appsrc", { "is-live": true, format: "time" }],
    out: [sink(() => arrived.add())],
  });
  await lasting.setState("PLAYING", 0);
  for (let round = 0; round < 2; round += 1) {
    const camera = await build({
      ...pictures(-1, I420, { "is-live": true }),
      ...H264,
      end: ["appsink", { sync: false }],
    });
    lasting.relayFrom("in", camera, "end");
    await camera.setState("PLAYING", 0);
    await arrived.reached(arrived.count + 3);
    await camera.close();
  }
  lasting.relayEnd("in");
  await ending(lasting);
  await lasting.close();
}

/** Proves that the tracer reports leaks. */
const forgotten = process.argv[2] === "and forget one" ? [await build({ ...pictures(1), out: ["fakesink"] })] : [];

await withFolder(async (folder) => {
  await makeFilm(join(folder, "film.mp4"), 10, true);
  await frames();
  await pipelines(join(folder, "film.mp4"));
  await branches(folder);
  await relays();
});
listFactories();
for (const name of ["queue", "x264enc", "decodebin", "rtspsrc"]) describeFactory(name);
console.log(`everything once, ${forgotten.length} forgotten`);
deinitGStreamer();
