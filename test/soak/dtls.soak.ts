/**
 * Mutated handshakes of a real DTLS client: the addon does not crash, no session connects, no response is much larger than
 * its request, and no memory leaks.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Address, DtlsClient } from "werift";
import { createIdentity, type DtlsReport } from "../../hub/webrtc/dtls.ts";
import { makeCertificate, SIGNATURE } from "../../hub/webrtc/test-viewer.fixture.ts";
import { mutate, mutations } from "./mutate.fixture.ts";
import { collectGarbage, progress, rounds, rssMb } from "./rounds.fixture.ts";

const TOTAL = rounds(1500, 100_000);
const BATCH = rounds(500, 1000);
const SEED = Number(process.env.WINDHOVER_SEED ?? Date.now() % 1e9);
/** Measured after a tenth of the inputs. */
const MAX_GROWTH_MB = 60;
/** The certificate and the key exchange, once per request. */
const MAX_RESPONSE_BYTES = 3000;

const identity = createIdentity();

/** Every datagram of a client until it is connected. */
async function recordClient(): Promise<Buffer[]> {
  const session = identity.createSession();
  const sent: Buffer[] = [];
  const { certPem, keyPem } = await makeCertificate();
  let isConnected = false;
  const handle = ({ state, datagrams }: DtlsReport) => {
    isConnected ||= state === "connected";
    for (const datagram of datagrams) setImmediate(() => transport.onData(datagram, ["", 0]));
  };
  const transport = {
    ...{ type: "memory", address: { address: "", family: "", port: 0 }, closed: false },
    onData: (_data: Buffer, _address: Address) => {},
    send: async (data: Buffer) => {
      sent.push(Buffer.from(data));
      handle(session.receive(data));
    },
    close: async () => {},
  };
  const client = new DtlsClient({
    ...{ transport, cert: certPem, key: keyPem, signatureHash: SIGNATURE },
    ...{ srtpProfiles: [7, 1], extendedMasterSecret: true },
  });
  const connected = new Promise<void>((resolve) => client.onConnect.once(() => resolve()));
  await client.connect();
  await connected;
  assert.ok(isConnected);
  assert.ok(session.exportKeys() !== null && session.peerCertificate() !== null);
  session.close();
  return sent;
}

const recorded = await recordClient();

test("a replayed handshake does not connect", () => {
  const session = identity.createSession();
  const states = recorded.map((datagram) => session.receive(datagram).state);
  assert.ok(!states.includes("connected"), states.join());
  assert.equal(session.exportKeys(), null);
  assert.equal(states.at(-1), "failed", "the handshake reaches the proof of the client's key");
});

test(`${TOTAL} handshakes with mutated datagrams do not connect, crash or leak (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const handshake = fc.record({
    changes: fc.array(mutations(120), { minLength: recorded.length, maxLength: recorded.length }),
    // Most datagrams are unchanged, so that later states are reached.
    changed: fc.array(fc.integer({ min: 0, max: recorded.length - 1 }), { minLength: 1, maxLength: 3 }),
    order: fc.array(fc.nat(recorded.length - 1), { maxLength: 3 }),
  });
  const reached = new Set<string>();
  let warmMb = 0;
  for (let sent = 0; sent < TOTAL; sent += BATCH) {
    fc.assert(
      fc.property(handshake, ({ changes, changed, order }) => {
        const session = identity.createSession();
        for (const i of [...recorded.keys(), ...order]) {
          const original = recorded[i] as Buffer;
          const datagram = changed.includes(i) ? mutate(original, changes[i] ?? [], 0) : original;
          const { state, error, datagrams } = session.receive(datagram);
          const bytes = datagrams.reduce((sum, { length }) => sum + length, 0);
          assert.ok(bytes <= MAX_RESPONSE_BYTES, `${bytes} bytes`);
          assert.notEqual(state, "connected");
          reached.add(error);
        }
        session.handleTimeout();
        session.timeoutMs();
        assert.equal(session.exportKeys(), null);
        session.peerCertificate();
        const ended = session.close().state;
        assert.ok(ended === "closed" || ended === "failed");
        // Calls after close do not access freed memory.
        session.receive(recorded[0] as Buffer);
        session.handleTimeout();
        assert.deepEqual([session.timeoutMs(), session.peerCertificate(), session.exportKeys()], [null, null, null]);
        session.close();
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
