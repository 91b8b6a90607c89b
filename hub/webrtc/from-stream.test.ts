import assert from "node:assert/strict";
import { test } from "node:test";
import type { AccessUnit } from "../../media/access-unit.ts";
import { CODECS } from "../../media/codecs.ts";
import type { RtpHeader } from "../../media/rtp/packet.ts";
import { until } from "../../test/watch.fixture.ts";
import { Sender } from "./from-stream.ts";

const WAITING_BYTES = 200_000;

/** A network that accepts packets on request. */
function open() {
  const sent: { sequence: number; timestamp: number; marker: boolean }[] = [];
  const unsent: (() => void)[] = [];
  let isStuck = false;
  const protectRtp = ({ sequence, timestamp, marker }: RtpHeader, payload: Buffer) => {
    sent.push({ sequence, timestamp, marker });
    return payload;
  };
  const sender = new Sender({
    ...{ codec: CODECS.h264, payloadType: 100, ssrc: 7, queueBytes: WAITING_BYTES },
    channel: { protectRtp },
    guard: (work) => work,
    send: (_data, onSent) => {
      if (isStuck) unsent.push(onSent);
      else onSent();
    },
  });
  const stick = (value: boolean) => {
    isStuck = value;
    for (const onSent of unsent.splice(0)) onSent();
  };
  return { sender, sent, unsent, stick };
}

function picture(n: number, isKey: boolean, bytes = 5000): AccessUnit {
  const slice = new Uint8Array(bytes).fill(n & 255);
  slice[0] = isKey ? 0x65 : 0x41;
  return { kind: "video", dtsUs: n * 40_000, ptsUs: n * 40_000, captureMs: n * 40, isKey, parts: [slice] };
}

test("sends a large picture in paced bursts, complete and in order", async () => {
  const { sender, sent } = open();
  sender.send(picture(0, true, 150_000));
  assert.ok(sent.length <= 40, `${sent.length} at once`);
  await until(() => sent.at(-1)?.marker === true);
  assert.equal(sent.length, Math.ceil(149_999 / 1148));
  for (let i = 1; i < sent.length; i++) {
    assert.equal(sent[i]?.sequence, ((sent[i - 1]?.sequence ?? 0) + 1) & 0xffff);
    assert.equal(sent[i]?.timestamp, sent[0]?.timestamp);
  }
  sender.close();
});

test("sends nothing before the first keyframe", () => {
  const { sender, sent } = open();
  sender.send(picture(0, false));
  assert.equal(sent.length, 0);
  assert.equal(sender.missed, 1);
  sender.send(picture(1, true));
  assert.equal(sent.at(-1)?.marker, true);
  sender.close();
});

test("a viewer that accepts nothing uses at most its share of memory, and continues with a keyframe", async () => {
  const { sender, sent, unsent, stick } = open();
  stick(true);
  sender.send(picture(0, true));
  for (let n = 1; n < 2000; n++) {
    sender.send(picture(n, false));
    if (n % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assert.ok(sender.missed > 1000, `${sender.missed} missed`);
  assert.ok(unsent.length <= 512, `${unsent.length} packets under way`);
  stick(false);
  const before = sent.length;
  sender.send(picture(2000, false));
  assert.equal(sent.length, before, "it could not be decoded");
  sender.send(picture(2001, true));
  await until(() => sent.length > before && sent.at(-1)?.marker === true);
  assert.equal(sender.progress?.captureMs, 2001 * 40);
  sender.close();
});

test("cached pictures that would take too long to send are left out", () => {
  const { sender, sent } = open();
  sender.sendCached([picture(0, true, WAITING_BYTES), picture(1, false)]);
  assert.equal(sent.length, 0);
  sender.send(picture(2, false));
  assert.equal(sent.length, 0);
  sender.send(picture(3, true));
  assert.ok(sent.length > 0);
  sender.close();
});

test("limits retransmissions by the time that has passed", (t) => {
  let nowMs = performance.now();
  t.mock.method(performance, "now", () => nowMs);
  const { sender, sent, stick, unsent } = open();
  sender.send(picture(0, true));
  stick(true);
  const sequences = sent.map(({ sequence }) => sequence);
  const retransmitOften = (): number => {
    for (let i = 0; i < 500; i++) sender.retransmit(sequences);
    return unsent.length;
  };
  const first = retransmitOften();
  assert.ok(first >= sequences.length && first < 1500, `${first} sent again`);
  assert.equal(retransmitOften(), first);
  nowMs += 500;
  const second = retransmitOften() - first;
  assert.ok(
    second > 0.4 * first && second < 0.6 * first,
    `${second} sent again after half a second, ${first} at first`,
  );
  sender.close();
});
