/** Creates and destroys different pipelines, then deinitialises GStreamer so that its leaks tracer reports. */
import { deinitGStreamer } from "../../native/gstreamer.ts";
import { Pipeline } from "../../native/pipeline.ts";
import { collector, compiledLaunch, compiledText, delay, pass, start } from "../graph.fixture.ts";
import { collectGarbage, progress, rssMb } from "./rounds.fixture.ts";

const total = Number(process.argv[2]);
const sink = collector(() => {});
const extra = [delay, pass, sink];
const LINES = [
  'source uri="test:ball?width=64&height=48&frames=5" ! decode ! stage ! delay ! collect',
  'source uri="test:ball?width=64&height=48&frames=5" ! decode ! tee name=t ! queue ! pass ! collect t. ! stage ! encode ! fakesink',
];
const SLOTTED = `
graph: slotted
about: A slot that is attached and not always detached.
chains:
  main: [{ source: { uri: "test:ball?width=64&height=48", pace: realtime } }, decode, { tee: { name: t } }]
  data: [{ from: t }, stage, collect]
slots:
  extra: { chain: [{ from: t }, stage, pass, { fakesink: { async: false } }] }
`;

// Kept alive on request, to prove that the tracer reports it.
const forgotten = process.env.WINDHOVER_LEAK === "1" ? [new Pipeline({ name: "forgotten", epochNs: 0n })] : [];

/** Counted by finalizers, which run some turns of the event loop after a collection. */
let collected = 0;
const collections = new FinalizationRegistry(() => {
  collected += 1;
});
const MAX_TURNS = 100;
const SETTLING_READINGS = 10;
const SETTLING_MS = 20;

/** A separate function, so that no reference survives a round. */
async function runRound(round: number): Promise<void> {
  if (round % 5 === 4) {
    const graph = await start(compiledText(SLOTTED, ...extra), extra);
    collections.register(graph.pipeline, null);
    const name = await graph.attach("extra", {});
    if (round % 2 === 0) await graph.detach(name);
    await graph.stop();
  } else {
    const graph = await start(compiledLaunch(LINES[round % 2] as string, ...extra), extra);
    collections.register(graph.pipeline, null);
    await graph.ended;
  }
}

/** The minimum of several readings: freed memory returns to the system with a delay. */
async function settledMb(): Promise<number> {
  let leastMb = Number.POSITIVE_INFINITY;
  for (let reading = 0; reading < SETTLING_READINGS; reading++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
    leastMb = Math.min(leastMb, rssMb());
  }
  return leastMb;
}

/** Readings after each third of the rounds. The first third includes compiled code and allocator caches. */
const readingsMb: number[] = [];
for (let round = 0; round < total; round++) {
  await runRound(round);
  if ((round + 1) % Math.floor(total / 3) === 0 && readingsMb.length < 3) readingsMb.push(await settledMb());
  progress("pipelines", round + 1, total);
}
for (let turn = 0; collected < total && turn < MAX_TURNS; turn++) {
  collectGarbage();
  await new Promise((resolve) => setImmediate(resolve));
}
process.stdout.write(JSON.stringify({ pipelines: total, collected, readingsMb }));
deinitGStreamer();
if (forgotten.length > 0) process.exit(0);
