/** MAVLink datagrams on real sockets. */
import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { after, test } from "node:test";
import { writeAttitude, writeGimbal, writeHeartbeat, writePosition } from "../../telemetry/mavlink.fixture.ts";
import { findFreePort } from "../../test/ports.fixture.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { type RecordedTelemetry, recordTelemetry } from "./telemetry.fixture.ts";
import { plainSender } from "./udp-ports.ts";

const ADA = "00000000-0000-7000-8000-00000000000a";
const BOB = "00000000-0000-7000-8000-00000000000b";

const setting = (port: number, more: object = {}): TelemetrySetting => ({
  ...{ type: "udp", format: "mavlink" },
  parameters: { port, sender: "127.0.0.1", sensor_hfov: 60, sensor_vfov: 34, ...more },
});

const sockets: Socket[] = [];
after(() => {
  for (const socket of sockets) socket.close();
});

/** A drone with an address of its own on this machine. */
async function openDrone(address = "127.0.0.1"): Promise<(port: number, payload: Buffer) => void> {
  const socket = createSocket("udp4");
  sockets.push(socket);
  await new Promise<void>((resolve) => socket.bind({ address }, resolve));
  return (port, payload) => socket.send(payload, port, "127.0.0.1");
}

const record = (given: TelemetrySetting, userUuid = ADA): RecordedTelemetry => recordTelemetry(given, {}, {}, userUuid);
const isOpen = ({ telemetry }: RecordedTelemetry) =>
  eventually(() => telemetry.info.state === "waiting", "the port is open");

test("positions and gimbal angles of a drone reach the runner and the subscribers", async () => {
  const port = await findFreePort();
  const recorded = record(setting(port));
  await isOpen(recorded);
  assert.match(recorded.telemetry.info.detail ?? "", new RegExp(`UDP port ${port}, no telemetry from 127.0.0.1 yet`));
  const send = await openDrone();
  send(port, writeHeartbeat());
  send(port, writePosition());
  send(port, Buffer.concat([writeAttitude(90), writeGimbal(-45)]));
  await eventually(() => recorded.delivered.length === 2, "two samples");
  const [place, camera] = recorded.delivered;
  assert.equal(place?.position?.latitude, 48.13743);
  assert.ok(Math.abs((camera?.attitude?.pitch ?? 0) + 45) < 1e-3);
  assert.equal(recorded.published.at(-1)?.sensor_hfov, 60);
  const { state, detail, messages_received, messages_refused } = recorded.telemetry.info;
  // Datagrams about other things are not counted.
  assert.deepEqual([state, detail, messages_received, messages_refused], ["receiving", null, 2, 0]);
});

test("datagrams of another sender are ignored", async () => {
  const port = await findFreePort();
  const recorded = record(setting(port));
  await isOpen(recorded);
  const [own, other] = [await openDrone(), await openDrone("127.0.0.9")];
  other(port, writePosition({ latitude: 1 }));
  own(port, writePosition({ latitude: 2 }));
  await eventually(() => recorded.delivered.length > 0, "a sample");
  assert.deepEqual(
    recorded.delivered.map(({ position }) => position?.latitude),
    [2],
  );
});

test("processes of one user share a port; another user with the same sender gets nothing and the reason", async () => {
  const port = await findFreePort();
  const [first, second] = [record(setting(port)), record(setting(port))];
  const elsewhere = record(setting(port, { sender: "127.0.0.9" }));
  const foreign = record(setting(port), BOB);
  await isOpen(first);
  await isOpen(second);
  await eventually(
    () => /another key/.test(foreign.telemetry.info.detail ?? "") || foreign.delivered.length > 0,
    "an answer",
  );
  const [send, sendOther] = [await openDrone(), await openDrone("127.0.0.9")];
  send(port, writePosition({ latitude: 3 }));
  sendOther(port, writePosition({ latitude: 4 }));
  await eventually(() => first.delivered.length === 1 && second.delivered.length === 1, "both processes");
  await eventually(() => elsewhere.delivered.length === 1, "the other drone");
  assert.equal(elsewhere.delivered[0]?.position?.latitude, 4);
  assert.equal(foreign.delivered.length, 0);
});

test("a port that is in use is tried again, and one that is closed can be used again", async () => {
  const port = await findFreePort();
  const busy = createSocket("udp4");
  await new Promise<void>((resolve) => busy.bind({ address: "127.0.0.1", port }, resolve));
  const recorded = record(setting(port));
  await eventually(() => /EADDRINUSE.*retrying/.test(recorded.telemetry.info.detail ?? ""), "it is in use");
  assert.equal(recorded.telemetry.info.state, "connecting");
  busy.close();
  await isOpen(recorded);
  recorded.telemetry.close();
  const again = record(setting(port));
  await isOpen(again);
});

test("with a passphrase, unsigned messages are refused", async () => {
  const port = await findFreePort();
  const recorded = record(setting(port, { password: "secret" }));
  await isOpen(recorded);
  const send = await openDrone();
  send(port, writePosition());
  await eventually(() => recorded.telemetry.info.messages_refused === 1, "it is refused");
  assert.match(recorded.telemetry.info.detail ?? "", /no valid signature/);
  send(port, writePosition({ latitude: 5 }, { signature: { passphrase: "secret", time: 9 } }));
  await eventually(() => recorded.delivered.length === 1, "the signed one is used");
});

test("addresses are compared without the prefix of IPv4 on a socket for both", () => {
  assert.equal(plainSender("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(plainSender("FE80::1%eth0"), "fe80::1");
});
