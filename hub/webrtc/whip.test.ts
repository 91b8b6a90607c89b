/** Publishers by WHIP, with STUN, DTLS and SRTP of a library that the hub does not use. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import type { AccessUnit } from "../../media/access-unit.ts";
import { CODECS } from "../../media/codecs.ts";
import { payloadNals } from "../../media/rtp/nal-units.ts";
import { joinPayload } from "../../media/rtp/packet.ts";
import { writeSenderReport } from "../../media/rtp/rtcp.ts";
import { TRACKS } from "../../media/tracks.fixture.ts";
import { poll } from "../../test/watch.fixture.ts";
import { StatusError, StreamRejected } from "../errors.ts";
import { Streams } from "../streams.ts";
import { TestViewer } from "./test-viewer.fixture.ts";
import { Whep } from "./whep.ts";

const PAYLOAD_TYPE = 109;
const SSRC = 4711;
const NACK = 205;
const PICTURE_LOSS = 206;
const RECEIVER_REPORT = 201;

const closers: (() => unknown)[] = [];
after(async () => {
  for (const close of closers.reverse()) await close();
});

function open({ connectMs = 20_000, stalledMs = 20_000, publishers = 4 } = {}) {
  const units: AccessUnit[] = [];
  const abandoned: string[] = [];
  const streams: Streams = new Streams(
    { publishers, readersPerStream: 4, cacheBytes: 2 ** 24, keyBytes: 2 ** 30, frozenMs: 600_000, keylessMs: 600_000 },
    {
      published: ({ path }) =>
        void streams.read(path, {
          setTracks() {},
          push: (unit) => units.push(unit),
          end: (reason) => reasons.push(reason),
        }),
      abandoned: (path) => abandoned.push(path),
    },
  );
  const reasons: string[] = [];
  const whep = new Whep({
    settings: {
      webrtc: { addresses: [], portFirst: 0, portLast: 0 },
      limits: { connectMs, stalledMs, readerBytes: 2 ** 21, readersPerStream: 4, unitBytes: 2 ** 20 },
    },
    streams,
    log() {},
  });
  closers.push(
    () => streams.close("the test is over"),
    () => whep.closeAll(),
  );
  return { streams, whep, units, reasons, abandoned };
}

const sendOffer = (viewer: TestViewer): string => viewer.offer.replaceAll("a=recvonly", "a=sendonly");

async function connect(whep: Whep, path = "ann/phone") {
  const peer = await TestViewer.create();
  closers.push(() => peer.close());
  const { id, sdp } = await whep.publish(path, sendOffer(peer), null);
  await peer.connect(sdp);
  let sequence = 65_530;
  /** `lose`: the index of a packet that is not sent. Returns it, sealed later. */
  const send = (n: number, isKey: boolean, lose = -1) => {
    const slice = Uint8Array.from([isKey ? 0x65 : 0x41, ...randomBytes(3000)]);
    const parts = isKey ? [...TRACKS.video.sets, slice] : [slice];
    const payloads = payloadNals(CODECS.h264, parts, 1100).map((payload) => Buffer.from(joinPayload(payload)));
    let lost = (): void => {};
    payloads.forEach((payload, i) => {
      sequence = (sequence + 1) & 0xffff;
      const marker = i === payloads.length - 1;
      const header = { marker, payloadType: PAYLOAD_TYPE, sequence, timestamp: n * 3000, ssrc: SSRC };
      if (i === lose) lost = () => void peer.sendRtp(header, payload);
      else peer.sendRtp(header, payload);
    });
    return { slice, lost };
  };
  return { peer, id, sdp, send };
}

test("answers with what it receives, and publishes the pictures with their times", async () => {
  const { whep, units, streams, reasons } = open();
  const { peer, id, sdp, send } = await connect(whep);
  assert.match(sdp, /^a=recvonly/m);
  assert.match(sdp, /^m=audio 0 /m);
  assert.doesNotMatch(sdp, /a=ssrc/);
  assert.match(sdp, /^a=rtpmap:109 H264\/90000/m);
  peer.sendRtcp(writeSenderReport({ ssrc: SSRC, unixMs: Date.now(), timestamp: 0, packets: 0, bytes: 0 }));
  const sent = [send(0, true), ...Array.from({ length: 9 }, (_, i) => send(i + 1, false))];
  await peer.until("ten pictures", () => units.length === 10);
  assert.deepEqual(
    units.map(({ parts }) => Buffer.from(parts.at(-1) as Uint8Array).toString("hex")),
    sent.map(({ slice }) => Buffer.from(slice).toString("hex")),
  );
  assert.deepEqual(
    units.map(({ ptsUs }) => Math.round(ptsUs / 1000)),
    Array.from({ length: 10 }, (_, i) => Math.round((i * 100) / 3)),
  );
  await peer.until("reports and requests for keyframes", () =>
    [RECEIVER_REPORT, PICTURE_LOSS].every((type) => peer.reports.includes(type)),
  );
  const { link } = streams.list()[0] ?? assert.fail();
  assert.ok((link?.received ?? 0) >= 30 && link?.lost === 0, JSON.stringify(link));
  assert.equal(whep.close("ann/other", id), false);
  assert.equal(whep.close("ann/phone", id), true);
  assert.deepEqual(reasons, ["the publisher ended the stream"]);
  await peer.until("close_notify", () => peer.isClosed);
});

test("requests a lost packet, and continues when it arrives", async () => {
  const { whep, units } = open();
  const { peer, send } = await connect(whep);
  send(0, true);
  const { lost } = send(1, false, 1);
  send(2, false);
  await peer.until("a request for the packet", () => peer.reports.includes(NACK));
  lost();
  await peer.until("all pictures", () => units.length === 3);
});

test("a packet that is lost for good costs the pictures up to the next keyframe", async () => {
  const { whep, units } = open();
  const { peer, send } = await connect(whep);
  const first = send(0, true);
  send(1, false, 1);
  send(2, false);
  await peer.until("a request for the packet", () => peer.reports.includes(NACK));
  const before = peer.reports.filter((type) => type === PICTURE_LOSS).length;
  await peer.until(
    "a request for a keyframe",
    () => peer.reports.filter((type) => type === PICTURE_LOSS).length > before,
  );
  const key = send(10, true);
  await peer.until("the keyframe", () => units.length === 2);
  assert.deepEqual(
    units.map(({ parts }) => Buffer.from(parts.at(-1) as Uint8Array)),
    [first, key].map(({ slice }) => Buffer.from(slice)),
  );
});

test("rejects offers without video to send, and a path or a number of publishers that is taken", async () => {
  const { whep, abandoned } = open({ publishers: 1 });
  const peer = await TestViewer.create();
  closers.push(() => peer.close());
  await assert.rejects(
    whep.publish("ann/a", peer.offer, null),
    (error) => error instanceof StatusError && error.status === 406 && /sendonly/.test(error.message),
  );
  await assert.rejects(
    whep.publish("ann/a", "v=1", null),
    (error) => error instanceof StatusError && error.status === 400,
  );
  await whep.publish("ann/a", sendOffer(peer), null);
  for (const [path, kind] of [
    ["ann/a", "busy"],
    ["ann/b", "too_many"],
  ])
    await assert.rejects(
      whep.publish(path ?? "", sendOffer(peer), null),
      (error) => error instanceof StreamRejected && error.kind === kind,
    );
  assert.deepEqual(abandoned, ["ann/a", "ann/a", "ann/b"]);
});

test("a publisher that does not connect, or no longer answers checks, releases the path", async () => {
  const { whep, abandoned } = open({ connectMs: 50 });
  const peer = await TestViewer.create();
  closers.push(() => peer.close());
  await whep.publish("ann/late", sendOffer(peer), null);
  await poll("the end of the reservation", async () => abandoned.includes("ann/late"));

  const { whep: strict, reasons, units } = open({ stalledMs: 300 });
  const silent = await connect(strict);
  silent.send(0, true);
  await poll("a picture", async () => units.length === 1);
  silent.peer.answersChecks = false;
  await poll("the end of the stream", async () => reasons.length === 1);
  assert.match(reasons[0] ?? "", /consent expired/);
});
