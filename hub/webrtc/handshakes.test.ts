import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createIdentity } from "./dtls.ts";
import { mutatedHandshakes, recordClient, replay } from "./handshakes.fixture.ts";

const RUNS = 100;

const identity = createIdentity();
const recorded = await recordClient(identity);

test("a replayed handshake does not connect", () => {
  const session = identity.createSession();
  const states = recorded.map((datagram) => session.receive(datagram).state);
  assert.ok(!states.includes("connected"), states.join());
  assert.equal(session.exportKeys(), null);
  assert.equal(states.at(-1), "failed", "the handshake reaches the proof of the client's key");
});

test("handshakes with mutated datagrams do not connect, and get no large response", () => {
  const errors = new Set<string>();
  fc.assert(
    fc.property(mutatedHandshakes(recorded), (handshake) => {
      for (const error of replay(identity, handshake)) errors.add(error);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  assert.ok(errors.size > 3, `too few different errors: ${[...errors].join(", ")}`);
});
