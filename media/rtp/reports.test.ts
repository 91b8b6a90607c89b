import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readSenderReport, writeReceiverReport, writeSenderReport } from "./rtcp.ts";
import { RtpSender } from "./sender.ts";
import { SenderClock } from "./sender-clock.ts";

const NOW = Date.UTC(2026, 5, 1);

test("a sender report carries its time to a microsecond", () => {
  const report = writeSenderReport({ ssrc: 7, unixMs: NOW + 0.125, timestamp: 0xfffffff0, packets: 3, bytes: 4 });
  const sender = readSenderReport(report) ?? assert.fail("no report was read");
  assert.equal(sender.ssrc, 7);
  assert.equal(sender.timestamp, 0xfffffff0);
  assert.ok(Math.abs(sender.unixMs - NOW - 0.125) < 0.001);
});

test("a receiver report is a multiple of 32 bits", () => {
  const report = writeReceiverReport({
    ...{ ssrc: 1, senderSsrc: 2, fractionLost: 300, lost: 1e9, highest: 2 ** 33, jitter: 1.5, stamp: 3, sinceMs: 1000 },
  });
  assert.equal(report.length % 4, 0);
  assert.equal(readSenderReport(report), null);
  assert.equal(report.readUInt32BE(28), 65_536);
});

test("a BYE follows a report", () => {
  const bye = new RtpSender(96, 90_000).bye(NOW, 0);
  assert.ok(readSenderReport(bye));
  assert.equal(bye[bye.length - 7], 203);
});

test("any bytes are a report or null, and never throw", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => void readSenderReport(bytes)));
});

const reportOf = (unixMs: number, timestamp: number) => ({ ssrc: 1, unixMs, timestamp, stamp: 0 });

test("aligns two clocks by arrival, then by sender reports", () => {
  const times = new SenderClock(NOW);
  const video = times.addTrack(90_000, true);
  const audio = times.addTrack(48_000, false);
  assert.deepEqual(video.convert(4_294_960_000, NOW + 100), { ptsUs: 100_000, captureMs: NOW + 100 });
  assert.equal(audio.convert(555, NOW + 150).ptsUs, 150_000);
  // Wraps and continues.
  assert.equal(video.convert((4_294_960_000 + 9000) % 2 ** 32, NOW + 230).ptsUs, 200_000);
  // The audio was captured 80 ms before the first picture, and arrived late.
  video.handleReport(reportOf(NOW, 4_294_960_000), NOW + 240);
  audio.handleReport(reportOf(NOW - 80, 555), NOW + 240);
  assert.deepEqual(audio.convert(555 + 48_000, NOW + 1150), { ptsUs: 1_020_000, captureMs: NOW + 920 });
  assert.equal(video.convert((4_294_960_000 + 90_000) % 2 ** 32, NOW + 1230).captureMs, NOW + 1000);
});

test("a report before the first packet places audio exactly; a small correction does not move audio that plays", () => {
  const times = new SenderClock(NOW);
  const video = times.addTrack(90_000, true);
  const audio = times.addTrack(48_000, false);
  video.handleReport(reportOf(NOW - 500, 9000), NOW);
  // It arrives late, by less than an audible step.
  audio.handleReport(reportOf(NOW - 500, 555), NOW + 7);
  assert.equal(audio.convert(555, NOW + 7).ptsUs, video.convert(9000, NOW).ptsUs);
  audio.handleReport(reportOf(NOW + 505, 555 + 48_000), NOW + 1000);
  assert.equal(audio.convert(555 + 48_000, NOW + 1000).ptsUs, 1_000_000);
});

test("a corrected clock does not move metadata, whichever track reports it first", () => {
  for (const order of ["video first", "metadata first"] as const) {
    const times = new SenderClock(NOW);
    const video = times.addTrack(90_000, true);
    const metadata = times.addTrack(90_000, false, true);
    const report = (correctionMs: number) => {
      const tracks = order === "video first" ? [video, metadata] : [metadata, video];
      for (const track of tracks) track.handleReport(reportOf(NOW + correctionMs, 9000), NOW);
    };
    report(0);
    assert.equal(metadata.convert(18_000, NOW + 100).ptsUs, video.convert(18_000, NOW + 100).ptsUs);
    report(-17);
    assert.equal(metadata.convert(27_000, NOW + 200).ptsUs, video.convert(27_000, NOW + 200).ptsUs, order);
  }
});

test("a sender that does not know the time is not believed", () => {
  const times = new SenderClock(NOW);
  const video = times.addTrack(90_000, true);
  video.handleReport(reportOf(0, 1000), NOW);
  assert.equal(video.convert(1000, NOW + 5).captureMs, NOW + 5);
});

test("a player can compute the capture time of a picture", () => {
  const sender = new RtpSender(96, 90_000);
  const times = new SenderClock(NOW);
  const video = times.addTrack(90_000, true);
  video.convert(sender.timestampOf(1_000_000), NOW);
  video.handleReport(readSenderReport(sender.report(NOW - 500, 1_000_000)) ?? assert.fail("no report"), NOW);
  const { captureMs } = video.convert(sender.timestampOf(3_000_000), NOW + 2000);
  assert.ok(Math.abs(captureMs - (NOW + 1500)) < 0.1);
});
