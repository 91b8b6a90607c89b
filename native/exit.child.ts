/** Started by exit.test.ts: plays, and ends in the way of its argument. */

import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const mode = isMainThread ? (process.argv[2] ?? "") : String(workerData);

/** Frames in flight, kernels, metadata, a branch, a sink; resolves when frames flow. */
async function flow() {
  const { build, chain, counter, element, I420, never, pictures, sink, transform } = await import(
    "./pipeline.fixture.ts"
  );
  const { receiveLog, setLogLevels } = await import("./gstreamer.ts");
  setLogLevels("4");
  receiveLog(() => {});
  const frames = counter();
  const fill = [{ kind: "fill", x: 0, y: 0, width: 9, height: 9, colour: 0, opacity: 1 }];
  const work = transform(
    async (frame) => {
      frame.write({ index: frame.index });
      void frame.draw(fill);
      await frame.tensor(new Float32Array(48), { width: 4, height: 4 });
    },
    { inFlight: 4, access: "write" },
  );
  const out = element(() => ({ process: () => frames.add(), close: () => never }), { kind: "sink" });
  const stuck = sink((frame) => (frame.planes.length > 0 && frame.index > 3 ? never : undefined));
  const pipeline = await build({ ...pictures(-1, I420), work: [work], tee: ["tee"], q: ["queue"], out: [out] });
  const queue = ["queue", { leaky: "downstream", "max-size-buffers": 2 }] as const;
  await pipeline.addBranch("b", { from: "tee", to: "b-q" }, chain({ "b-q": queue, "b-out": [stuck] }));
  pipeline.tap("work", () => {});
  await pipeline.setState("PLAYING");
  await frames.reached(8);
  return pipeline;
}

const startWorker = (task: string) => {
  const [, file = ""] = process.argv;
  if (file.endsWith(".mjs")) return new Worker(file, { workerData: task });
  // Node 20 does not pass `--import tsx` to workers.
  const boot = `import(${JSON.stringify(import.meta.resolve("tsx/esm/api"))})
    .then(({ register }) => (register(), import(${JSON.stringify(import.meta.url)})))`;
  return new Worker(boot, { eval: true, workerData: task });
};
const firstMessage = (worker: Worker) => new Promise<unknown>((resolve) => worker.once("message", resolve));
const ended = (worker: Worker) => new Promise<number>((resolve) => worker.once("exit", resolve));

const modes: Record<string, () => unknown> = {
  async exit() {
    await flow();
    process.exit(3);
  },
  async "exit while starting"() {
    const { build, element, never, pictures } = await import("./pipeline.fixture.ts");
    const start = element(() => {
      setImmediate(() => process.exit(3));
      return never;
    });
    const pipeline = await build({ ...pictures(-1), start: [start], out: ["fakesink"] });
    await pipeline.setState("PLAYING");
  },
  async throw() {
    await flow();
    setImmediate(() => {
      throw new Error("uncaught");
    });
  },
  async wait() {
    await flow();
    console.log("ready");
  },
  async close() {
    const { aliveCounts } = await import("./handlers.ts");
    const { play, pictures, transform } = await import("./pipeline.fixture.ts");
    const work = transform(async (frame) => frame.write({ index: frame.index }), { inFlight: 3 });
    await play({ ...pictures(50), work: [work], out: ["fakesink"] });
    console.log(JSON.stringify(aliveCounts()));
  },
  async "forget what is built"() {
    const { build, pictures, sink } = await import("./pipeline.fixture.ts");
    const pipeline = await build({ ...pictures(-1), out: [sink(() => {})] });
    await pipeline.setState("READY");
  },
  async "forget what plays"() {
    const { build, pictures, sink } = await import("./pipeline.fixture.ts");
    // Only the pipeline keeps the process alive until frame 100.
    const out = sink((frame) => {
      if (frame.index === 100) process.exit(4);
    });
    const pipeline = await build({ ...pictures(-1), out: [out] });
    await pipeline.setState("PLAYING");
  },
  async "end workers"() {
    for (let round = 0; round < 2; round += 1) {
      const worker = startWorker("flow in a worker");
      await firstMessage(worker);
      await worker.terminate();
    }
    console.log(await ended(startWorker("exit")));
    const error = await new Promise<Error>((resolve) => startWorker("throw").once("error", resolve));
    console.log(error.message);
    const { play, pictures, sink } = await import("./pipeline.fixture.ts");
    await play({ ...pictures(5), out: [sink(() => {})] });
    console.log("main plays");
  },
  async "workers one after the other"() {
    for (let round = 0; round < 2; round += 1) {
      const worker = startWorker("close");
      console.log("worker", await ended(worker));
    }
  },
  async "two workers at once"() {
    const workers = ["a", "b"].map((name) => startWorker(`count ${name}`));
    const counts = Promise.all(workers.map(firstMessage));
    await Promise.all(workers.map(ended));
    console.log(JSON.stringify(await counts));
  },
  async "exit with workers"() {
    await Promise.all(["flow in a worker", "flow in a worker"].map((task) => firstMessage(startWorker(task))));
    await flow();
    process.exit(3);
  },
  async "flow in a worker"() {
    await flow();
    parentPort?.postMessage("flowing");
  },
};

/** The same element names in both threads: each receives its own frames and metadata. */
async function count(name: string): Promise<void> {
  const { play, pictures, sink, transform } = await import("./pipeline.fixture.ts");
  let frames = 0;
  const mark = transform((frame) => frame.write({ from: name }));
  const out = sink(({ meta }) => {
    if (meta.from === name) frames += 1;
  });
  for (let round = 0; round < 5; round += 1) await play({ ...pictures(40), mark: [mark], out: [out] });
  parentPort?.postMessage(frames);
}

if (mode.startsWith("count ")) await count(mode.slice(-1));
else await modes[mode]?.();
