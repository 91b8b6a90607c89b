import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { aliveCounts } from "../../native/handlers.ts";
import { collector, compiledLaunch, delay, makeClip, pass, start, temporaryFolder } from "../graph.fixture.ts";
import { progress, rounds, seededRandom } from "./rounds.fixture.ts";

const folder = temporaryFolder();
const clip = await makeClip(folder, 250);
const sink = collector(() => {});
const extra = [delay, pass, sink];

const GRAPHS = [
  `source uri="${clip}" ! decode ! stage ! delay ! collect`,
  `source uri="${clip}" pace=realtime ! decode ! stage ! pass ! delay ! tee name=t ! queue ! collect t. ! stage ! pass ! fakesink`,
  `source uri="${clip}" ! decode ! tee name=t ! stage ! encode ! record path="${folder}/out.mp4" t. ! queue ! delay ! print`,
  'source uri="test:ball" pace=realtime ! decode ! pass ! delay ! pass ! stage ! collect',
];

/** Far beyond any limit of the runtime: a hang. */
const HANG_MS = 30_000;

test("a graph stops at any moment, by drain or by abort, without a hang", {
  timeout: rounds(240_000, 3_600_000),
}, async () => {
  const random = seededRandom();
  const total = rounds(15, 300);
  for (let round = 0; round < total; round++) {
    const line = GRAPHS[round % GRAPHS.length] as string;
    const compiled = compiledLaunch(line, ...extra);
    const moment = random.next() ** 2 * 400;
    const cut = new AbortController();
    const how = `round ${round}, seed ${random.seed}, ${moment.toFixed(1)} ms into: ${line}`;
    const stopping = (async () => {
      if (round % 3 === 0) {
        // Abort at any moment, also during the start.
        const timer = sleep(moment).then(() => cut.abort());
        const graph = await start(compiled, extra, { signal: cut.signal, print: async () => {} }).catch(() => null);
        await timer;
        await graph?.ended;
      } else {
        const graph = await start(compiled, extra, { print: async () => {} });
        await sleep(moment);
        // Sometimes during a change that restarts the graph.
        if (round % 6 === 1) {
          const other = compiledLaunch(GRAPHS[(round + 1) % GRAPHS.length] as string, ...extra);
          graph.apply(other).catch(() => {});
          await sleep(random.next() * 50);
        }
        const result = await graph.stop();
        assert.equal(result.state, "finished", `${how}: ${result.error?.message}`);
      }
    })();
    const hang = new AbortController();
    const outcome = await Promise.race([
      stopping.then(() => "stopped"),
      sleep(HANG_MS, "hangs", { signal: hang.signal }).catch(() => "stopped"),
    ]);
    hang.abort();
    assert.equal(outcome, "stopped", how);
    progress("stops", round + 1, total);
  }
  const alive = aliveCounts();
  assert.deepEqual({ calls: alive.calls, instances: alive.instances }, { calls: 0, instances: 0 });
});
