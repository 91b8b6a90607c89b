/** Mutated handshakes of a real DTLS client, as in hub/webrtc/handshakes.test.ts, in numbers: no memory leaks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createIdentity } from "../../hub/webrtc/dtls.ts";
import { mutatedHandshakes, recordClient, replay } from "../../hub/webrtc/handshakes.fixture.ts";
import { collectGarbage, progress, rounds, rssMb } from "./rounds.fixture.ts";

const TOTAL = rounds(1500, 100_000);
const BATCH = rounds(500, 1000);
const SEED = Number(process.env.WINDHOVER_SEED ?? Date.now() % 1e9);
/** Measured after a tenth of the inputs. */
const MAX_GROWTH_MB = 60;

const identity = createIdentity();
const recorded = await recordClient(identity);

test(`${TOTAL} handshakes with mutated datagrams do not connect, crash or leak (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const reached = new Set<string>();
  let warmMb = 0;
  for (let sent = 0; sent < TOTAL; sent += BATCH) {
    fc.assert(
      fc.property(mutatedHandshakes(recorded), (handshake) => {
        for (const error of replay(identity, handshake)) reached.add(error);
      }),
      { numRuns: BATCH, seed: SEED + sent, endOnFailure: true },
    );
    progress("dtls", sent + BATCH, TOTAL);
    collectGarbage();
    // Finalizers of collected objects run between tasks.
    await new Promise((resolve) => setImmediate(resolve));
    if (sent <= TOTAL / 10) warmMb = rssMb();
  }
  assert.ok(reached.size > 5, `too few different errors: ${[...reached].join(", ")}`);
  assert.ok(rssMb() - warmMb < MAX_GROWTH_MB, `RSS grew from ${warmMb.toFixed(0)} to ${rssMb().toFixed(0)} MB`);
});
