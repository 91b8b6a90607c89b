/** Creates and destroys pipelines of several shapes, then ends GStreamer so that its leaks tracer speaks. */
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
about: A slot that is attached and left in.
chains:
  main: [{ source: { uri: "test:ball?width=64&height=48", pace: realtime } }, decode, { tee: { name: t } }]
  data: [{ from: t }, stage, collect]
slots:
  extra: { chain: [{ from: t }, stage, pass, { fakesink: { async: false } }] }
`;

// Kept, so that it is not collected either: proof that the tracer would tell.
const forgotten = process.env.WINDHOVER_LEAK === "1" ? [new Pipeline({ name: "forgotten", epochNs: 0n })] : [];

/** Told by the collector, some turns of the event loop after it has been asked to collect. */
let collected = 0;
const collections = new FinalizationRegistry(() => {
  collected += 1;
});
const MOST_TURNS = 100;
const SETTLING_READINGS = 10;
const SETTLING_MS = 20;

/** A function of its own, so that nothing of a round is still at hand after it. */
async function live(round: number): Promise<void> {
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

/** The least of several readings: what was freed goes back to the system a while later. */
async function settledMb(): Promise<number> {
  let leastMb = Number.POSITIVE_INFINITY;
  for (let reading = 0; reading < SETTLING_READINGS; reading++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
    leastMb = Math.min(leastMb, rssMb());
  }
  return leastMb;
}

/** After each third. What grows in the first is code that is compiled, and memory that is kept for the next time. */
const readingsMb: number[] = [];
for (let round = 0; round < total; round++) {
  await live(round);
  if ((round + 1) % Math.floor(total / 3) === 0 && readingsMb.length < 3) readingsMb.push(await settledMb());
  progress("pipelines", round + 1, total);
}
for (let turn = 0; collected < total && turn < MOST_TURNS; turn++) {
  collectGarbage();
  await new Promise((resolve) => setImmediate(resolve));
}
process.stdout.write(JSON.stringify({ pipelines: total, collected, readingsMb }));
deinitGStreamer();
if (forgotten.length > 0) process.exit(0);
