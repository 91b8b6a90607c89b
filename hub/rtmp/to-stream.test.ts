/** A publisher between its first and last picture. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AccessUnit } from "../../media/access-unit.ts";
import { CODECS, isParameterSet } from "../../media/codecs.ts";
import { u32 } from "../../media/mp4/box.ts";
import { type Clip, makeClip } from "../../media/mp4/clip.fixture.ts";
import { hashClip, hashPictures, toByteStream } from "../../media/mp4/decode.fixture.ts";
import { MESSAGE } from "../../media/rtmp/message.ts";
import { StreamRejected } from "../errors.ts";
import { makeFlv } from "./clips.fixture.ts";
import { RawClient, readTags, type Tag } from "./raw-client.fixture.ts";
import { TestIngest } from "./rtmp.fixture.ts";

const ingest = await TestIngest.open();
const [small, large] = (await Promise.all([makeFlv({ frames: 25 }), makeFlv({ frames: 25, size: "320x240" })])).map(
  readTags,
);
assert.ok(small && large);

const h265Clips = {
  name: makeClip({ codec: "h265", seconds: 2, gop: 10, bFrames: 3 }),
  number: makeClip({ codec: "h265", seconds: 1, gop: 10 }),
};

const pictures = (units: readonly AccessUnit[]) => units.filter(({ kind }) => kind === "video");

/** Publishes these tags and ends. */
async function publish(path: string, tags: readonly Tag[]) {
  const client = await RawClient.publishing(ingest, path);
  for (const tag of tags) client.send(tag);
  client.command("deleteStream", null, 1);
  return ingest.finished(path);
}

function assertGrowing(units: readonly AccessUnit[]): void {
  for (const [i, { dtsUs, ptsUs }] of units.entries()) {
    assert.ok(ptsUs >= dtsUs);
    if (i > 0) assert.ok(dtsUs > (units[i - 1]?.dtsUs ?? 0), `unit ${i}`);
  }
}

test("does not read pictures while authorization is pending, and reads them afterwards", async () => {
  let decide: (isRight: boolean) => void = () => {};
  const { authorize } = ingest;
  ingest.authorize = () =>
    new Promise((resolve, reject) => {
      decide = (isRight) =>
        isRight ? resolve({ recording: null }) : reject(new StreamRejected("slow_down", "too many wrong keys"));
    });
  for (const isRight of [true, false]) {
    const path = `user/asked-${isRight}`;
    const client = await RawClient.publishing(ingest, path);
    for (const tag of small) client.send(tag);
    await ingest.until(() => ingest.questions.at(-1)?.path === path);
    assert.equal(
      ingest.taken.find((one) => one.path === path),
      undefined,
    );
    decide(isRight);
    if (isRight) {
      await ingest.until(() => ingest.taken.find((one) => one.path === path)?.units.length === 25);
      client.socket.destroy();
      assert.equal((await ingest.finished(path)).reason, "the publisher closed the connection");
    } else {
      await client.closed;
      assert.deepEqual(client.statuses(), [["NetStream.Publish.Denied", "too many wrong keys"]]);
      assert.equal(
        ingest.taken.find((one) => one.path === path),
        undefined,
      );
    }
  }
  ingest.authorize = authorize;
});

test("rejects other codecs with a reason, by number and by FourCC", async () => {
  const { body } = small[1] ?? assert.fail();
  for (const [name, foreign] of [
    ["number", Buffer.concat([Buffer.of(0x1d), body.subarray(1)])],
    ["name", Buffer.concat([Buffer.of(0x90), Buffer.from("av01"), body])],
  ] as const) {
    const client = await RawClient.publishing(ingest, `user/av1-${name}`);
    client.send({ type: MESSAGE.video, timestamp: 0, body: foreign });
    await client.closed;
    const words = "expected H.264 or H.265, received AV1: set the encoder to one of them";
    assert.deepEqual(client.statuses().at(-1), ["NetStream.Publish.Rejected", words]);
  }
  const client = await RawClient.publishing(ingest, "user/h265-late");
  for (const tag of small) client.send(tag);
  client.send({ type: MESSAGE.video, timestamp: 2000, body: Buffer.concat([Buffer.of(0x1c), body.subarray(1)]) });
  const words = "the codec changed from H.264 to H.265: publish the stream again";
  assert.equal((await ingest.finished("user/h265-late")).reason, words);
});

/**
 * As OBS and ffmpeg 7 send it, which Debian does not have: a configuration, metadata about colours, pictures with and
 * without a composition time. `number`: as some Chinese encoders send it.
 */
function toTags({ tracks, units }: Clip, form: "name" | "number"): Tag[] {
  const { h265 } = CODECS;
  const head = (frame: number, packet: number) =>
    form === "name"
      ? Buffer.from([0x80 | (frame << 4) | packet, ..."hvc1".split("").map((c) => c.charCodeAt(0))])
      : Buffer.of((frame << 4) | 12, packet);
  const video = (timestamp: number, ...parts: Uint8Array[]): Tag => ({
    ...{ type: MESSAGE.video, timestamp, body: Buffer.concat(parts) },
  });
  const sequence = form === "name" ? [] : [Buffer.alloc(3)];
  const start = [video(0, head(1, 0), ...sequence, h265.writeConfig(tracks.video.sets))];
  if (form === "name") start.push(video(0, head(5, 4), Buffer.from("\u0002\u0000\u0009colorInfo")));
  const pictures = units.map(({ dtsUs, ptsUs, isKey, parts }) => {
    const compositionMs = Math.round((ptsUs - dtsUs) / 1000);
    const time = Buffer.alloc(3);
    time.writeIntBE(compositionMs, 0, 3);
    const nals = parts.filter((nal) => !isParameterSet(h265, nal)).flatMap((nal) => [u32(nal.length), nal]);
    const isShort = form === "name" && compositionMs === 0;
    return video(Math.round(dtsUs / 1000), head(isKey ? 1 : 2, isShort ? 3 : 1), ...(isShort ? [] : [time]), ...nals);
  });
  return [...start, ...pictures];
}

for (const form of ["name", "number"] as const)
  test(`publishes H.265 by ${form}: every picture as it was encoded, in its order`, async () => {
    const clip = h265Clips[form];
    const { units, tracks } = await publish(`user/h265-${form}`, toTags(clip, form));
    assert.deepEqual(tracks.length, 1);
    const { codec, width, height, reorders } = tracks[0]?.video ?? assert.fail();
    assert.deepEqual([codec, width, height, reorders], ["h265", 320, 180, form === "name"]);
    assertGrowing(units);
    assert.deepEqual(hashPictures(toByteStream(units)), hashClip(clip));
    const shownMs = (all: readonly AccessUnit[]) =>
      all.map(({ ptsUs }) => Math.round((ptsUs - (all[0]?.ptsUs ?? 0)) / 1000));
    for (const [i, ms] of shownMs(units).entries()) assert.ok(Math.abs(ms - (shownMs(clip.units)[i] ?? 0)) <= 1);
  });

test("a spoilt HEVC configuration ends the publisher, and nobody else", async () => {
  const [config] = toTags(h265Clips.name, "name");
  const { body } = config ?? assert.fail();
  const reasons: string[] = [];
  for (const [i, spoilt] of [
    body.subarray(0, 12),
    body.subarray(0, body.length - 4),
    Buffer.concat([body.subarray(0, 5), Buffer.of(9), body.subarray(6)]),
    Buffer.concat([body.subarray(0, 26), Buffer.of(2), body.subarray(27)]),
    Buffer.concat([body.subarray(0, 27), Buffer.of(0xff), body.subarray(28)]),
  ].entries()) {
    const client = await RawClient.publishing(ingest, `user/spoilt-${i}`);
    client.send({ type: MESSAGE.video, timestamp: 0, body: spoilt });
    await client.closed;
    reasons.push(String(client.statuses().at(-1)?.[1]));
  }
  for (const reason of reasons) assert.match(reason, /HEVC configuration|SPS|PPS|VPS/);
});

test("drops audio that is not AAC and logs it once; the video is published", async () => {
  const mp3 = { type: MESSAGE.audio, timestamp: 0, body: Buffer.from([0x2f, 1, 2, 3]) };
  const { units, tracks } = await publish(
    "user/mp3",
    small.flatMap((tag) => [tag, mp3]),
  );
  assert.equal(units.length, 25);
  assert.equal(tracks[0]?.audio, null);
  assert.equal(ingest.said.filter((line) => line.includes("expected AAC, received MP3")).length, 1);
  const odd = { type: MESSAGE.audio, timestamp: 0, body: Buffer.from([0xaf, 0, 0xf8, 0]) };
  assert.equal((await publish("user/odd", [odd, ...small])).units.length, 25);
});

test("rejects a second publisher, and the first one continues", async () => {
  const first = await RawClient.publishing(ingest, "user/once");
  for (const tag of small.slice(0, 10)) first.send(tag);
  const taken = await ingest.until(() => ingest.taken.find(({ path }) => path === "user/once"));
  const second = await RawClient.publishing(ingest, "user/once");
  await second.closed;
  assert.deepEqual(second.statuses(), [["NetStream.Publish.BadName", "user/once is already being published"]]);
  for (const tag of small.slice(10)) first.send(tag);
  await ingest.until(() => taken.units.length === 25);
  assert.equal(taken.reason, null);
  first.socket.destroy();
});

test("sends the reason to an expelled publisher, and closes its connection", async () => {
  const client = await RawClient.publishing(ingest, "user/expelled");
  for (const tag of small) client.send(tag);
  await ingest.until(() => ingest.taken.find(({ path }) => path === "user/expelled"));
  ingest.streams.expel("user/expelled", "its source was deleted");
  await client.closed;
  assert.deepEqual(client.statuses().at(-1), ["NetStream.Publish.Rejected", "its source was deleted"]);
});

test("closes a frozen publisher", async () => {
  const impatient = await TestIngest.open({ frozenMs: 300 });
  const client = await RawClient.publishing(impatient, "user/frozen");
  for (const tag of small) client.send(tag);
  const { reason, units } = await impatient.finished("user/frozen");
  assert.match(reason ?? "", /^no video received for/);
  assert.equal(units.length, 25);
  await client.closed;
});

test("publishes new tracks when the resolution changes, and every picture arrives", async () => {
  const later = large.map((tag) => ({ ...tag, timestamp: tag.timestamp + 1000 }));
  const { tracks, units } = await publish("user/resized", [...small, ...later]);
  assert.deepEqual(
    tracks.map(({ video: { width, height } }) => [width, height]),
    [
      [160, 120],
      [320, 240],
    ],
  );
  assert.equal(pictures(units).length, 50);
  assertGrowing(pictures(units));
});

test("timestamps continue after the 32-bit wrap", async () => {
  const near = 2 ** 32 - 500;
  const { units } = await publish(
    "user/wraps",
    small.map((tag) => ({ ...tag, timestamp: (tag.timestamp + near) % 2 ** 32 })),
  );
  assert.deepEqual(
    pictures(units).map(({ dtsUs }) => dtsUs),
    Array.from({ length: 25 }, (_, i) => i * 40_000),
  );
});

test("fixes missing and backward timestamps, and loses no picture", async () => {
  const missing = await publish(
    "user/timeless",
    small.map((tag) => ({ ...tag, timestamp: 0 })),
  );
  const back = await publish(
    "user/back",
    small.map((tag, i) => ({ ...tag, timestamp: i % 3 === 2 ? 0 : tag.timestamp })),
  );
  for (const { units } of [missing, back]) {
    assert.equal(pictures(units).length, 25);
    assertGrowing(pictures(units));
  }
});

test("a picture beyond the limit costs its publisher the connection", async () => {
  const client = await RawClient.publishing(ingest, "user/huge");
  for (const tag of small) client.send(tag);
  const [{ body } = assert.fail()] = small.slice(-1);
  client.send({ type: MESSAGE.video, timestamp: 2000, body: Buffer.concat([body, Buffer.alloc(2 ** 21 + 2000)]) });
  await client.closed;
  const { reason } = await ingest.finished("user/huge");
  assert.match(reason ?? "", /are allowed/);
  assert.deepEqual(client.statuses().at(-1), ["NetStream.Publish.Rejected", reason]);
});

test("sends a publisher the reason for a rejected configuration or picture", async () => {
  const [config, picture] = small;
  assert.ok(config && picture);
  const cut = { ...config, body: config.body.subarray(0, 12) };
  const overlong = { ...picture, body: Buffer.concat([picture.body, Buffer.of(0, 0, 0, 9, 1)]) };
  for (const [tags, expected] of [
    [[cut], /AVC configuration is truncated/],
    [[config, overlong], /expected a NAL unit of 9 bytes, received 1/],
  ] as const) {
    const client = await RawClient.publishing(ingest, "user/wrong");
    for (const tag of tags) client.send(tag);
    await client.closed;
    const [code, description] = client.statuses().at(-1) ?? [];
    assert.equal(code, "NetStream.Publish.Rejected");
    assert.match(String(description), expected);
  }
});
