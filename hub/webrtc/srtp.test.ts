import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RtpHeader, SrtcpSession, SrtpSession } from "werift";
import {
  deriveKey,
  SRTP_AEAD_AES_128_GCM,
  SRTP_AES128_CM_SHA1_80,
  SrtcpReceiver,
  SrtpReceiver,
  SrtpSender,
  splitKeys,
} from "./srtp.ts";

const PROFILES = [
  ["AES-CM with HMAC-SHA1", SRTP_AES128_CM_SHA1_80, 14],
  ["AES-GCM", SRTP_AEAD_AES_128_GCM, 12],
] as const;

test("session keys are derived as in RFC 3711, B.3", () => {
  const key = Buffer.from("E1F97A0D3E018BE0D64FA32C06DE4139", "hex");
  const salt = Buffer.from("0EC675AD498AFEEBB6960B3AABE6", "hex");
  const derive = (label: number, bytes: number) => deriveKey(key, salt, label, bytes).toString("hex").toUpperCase();
  assert.equal(derive(0, 16), "C61E7A93744F39EE10734AFE3FF7A087");
  assert.equal(derive(2, 14), "30CBBC08863D8C85D49DB34A9AE1");
  assert.equal(derive(1, 20), "CEBE321F6FF7716B6FD4AB49AF256A156D38BAA4");
});

for (const [name, profile, saltBytes] of PROFILES) {
  const exported = Buffer.from(Array.from({ length: 2 * (16 + saltBytes) }, (_, i) => (i * 37 + 11) & 255));
  const { client, server } = splitKeys(profile, exported);
  /** The other side, by another implementation. */
  const config = {
    profile,
    keys: {
      localMasterKey: client.key,
      localMasterSalt: client.salt,
      remoteMasterKey: server.key,
      remoteMasterSalt: server.salt,
    },
  };

  test(`${name}: opens what another implementation sends, once each, in any order, across rollovers`, () => {
    const sender = new SrtpSession(config);
    const receiver = new SrtpReceiver(client);
    const seal = (n: number) => {
      const header = new RtpHeader({ sequenceNumber: n & 0xffff, timestamp: n, ssrc: 77, payloadType: 103 });
      return { n, data: sender.encrypt(Buffer.from(`payload ${n}`), header) };
    };
    const numbers = Array.from({ length: 400 }, (_, i) => 65_400 + i);
    const sealed = numbers.map(seal);
    // Pairs change places, as on a network.
    for (let i = 0; i + 1 < sealed.length; i += 4) sealed.splice(i, 2, ...sealed.slice(i, i + 2).reverse());
    for (const { n, data } of sealed)
      assert.ok(receiver.open(data)?.toString("latin1").endsWith(`payload ${n}`), String(n));
    for (const { n, data } of sealed) assert.equal(receiver.open(data), null, `replayed ${n}`);
    fc.assert(
      fc.property(fc.nat(399), fc.nat(60), fc.integer({ min: 1, max: 255 }), (which, at, value) => {
        const { data } = seal(66_000 + which);
        const spoilt = Buffer.from(data);
        spoilt[at % spoilt.length] = (spoilt[at % spoilt.length] as number) ^ value;
        assert.equal(receiver.open(spoilt), null);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => assert.equal(receiver.open(Buffer.from(bytes)), null)),
    );
  });

  test(`${name}: another implementation opens what is sent, across two rollovers of the sequence number`, () => {
    const sender = new SrtpSender(server);
    const receiver = new SrtpSession(config);
    const payload = Buffer.from("some payload of a packet");
    for (let n = 0; n < 140_000; n += n % 65_536 > 65_500 || n % 65_536 < 20 ? 1 : 97) {
      const header = {
        marker: n % 3 === 0,
        payloadType: 103,
        sequence: n & 0xffff,
        timestamp: n * 90,
        ssrc: 0xdead_beef,
      };
      const opened = receiver.decrypt(sender.protectRtp(header, payload));
      assert.deepEqual(opened.subarray(12), payload, `packet ${n}`);
      assert.equal(opened.readUInt32BE(4), n * 90);
    }
  });

  test(`${name}: RTCP is opened both ways, once, and not when a bit of it was changed`, () => {
    const report = Buffer.from("80c90001000000010203040506070809", "hex");
    const other = new SrtcpSession(config);
    const sender = new SrtpSender(server);
    for (let i = 0; i < 3; i++) assert.deepEqual(other.decrypt(sender.protectRtcp(report)), report);

    const receiver = new SrtcpReceiver(client);
    const first = other.encrypt(report);
    for (let bit = 0; bit < first.length * 8; bit++) {
      const changed = Buffer.from(first);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      assert.equal(receiver.open(changed), null, `bit ${bit}`);
    }
    assert.deepEqual(receiver.open(first), report);
    assert.equal(receiver.open(first), null, "a replay");
    assert.deepEqual(receiver.open(other.encrypt(report)), report);
  });

  test(`${name}: no bytes make the receiver throw`, () => {
    const receiver = new SrtcpReceiver(client);
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => receiver.open(Buffer.from(bytes)) === null));
  });
}
