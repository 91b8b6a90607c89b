/** Handshakes of a real DTLS client, recorded, mutated and replayed. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { type Address, DtlsClient } from "werift";
import { mutate, mutations } from "../../test/soak/mutate.fixture.ts";
import type { createIdentity, DtlsReport } from "./dtls.ts";
import { makeCertificate, SIGNATURE } from "./test-viewer.fixture.ts";

type DtlsIdentity = ReturnType<typeof createIdentity>;

/** The certificate and the key exchange, once per request. */
const MAX_RESPONSE_BYTES = 3000;

/** Every datagram of a client until it is connected. */
export async function recordClient(identity: DtlsIdentity): Promise<readonly Buffer[]> {
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

/** The datagrams of a recorded handshake with mutations, and some of them once more at the end. */
export const mutatedHandshakes = (recorded: readonly Buffer[]): fc.Arbitrary<readonly Buffer[]> =>
  fc
    .record({
      changes: fc.array(mutations(120), { minLength: recorded.length, maxLength: recorded.length }),
      // Most datagrams are unchanged, so that later states are reached.
      changed: fc.array(fc.integer({ min: 0, max: recorded.length - 1 }), { minLength: 1, maxLength: 3 }),
      order: fc.array(fc.nat(recorded.length - 1), { maxLength: 3 }),
    })
    .map(({ changes, changed, order }) =>
      [...recorded.keys(), ...order].map((i) => {
        const original = recorded[i] as Buffer;
        return changed.includes(i) ? mutate(original, changes[i] ?? [], 0) : original;
      }),
    );

/** Nothing connects, and no response is much larger than its request. Returns the errors of the session. */
export function replay(identity: DtlsIdentity, handshake: readonly Buffer[]): ReadonlySet<string> {
  const errors = new Set<string>();
  const session = identity.createSession();
  for (const datagram of handshake) {
    const { state, error, datagrams } = session.receive(datagram);
    const bytes = datagrams.reduce((sum, { length }) => sum + length, 0);
    assert.ok(bytes <= MAX_RESPONSE_BYTES, `${bytes} bytes`);
    assert.notEqual(state, "connected");
    errors.add(error);
  }
  session.handleTimeout();
  session.timeoutMs();
  assert.equal(session.exportKeys(), null);
  session.peerCertificate();
  const ended = session.close().state;
  assert.ok(ended === "closed" || ended === "failed");
  // Calls after close do not access freed memory.
  session.receive(handshake[0] as Buffer);
  session.handleTimeout();
  assert.deepEqual([session.timeoutMs(), session.peerCertificate(), session.exportKeys()], [null, null, null]);
  session.close();
  return errors;
}
