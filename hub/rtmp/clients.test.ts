/** Streams of ffmpeg and of both GStreamer sinks arrive unchanged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { codecName } from "../../media/h264/sps.ts";
import { makeFlv, type Packet, readPackets, toPackets } from "./clips.fixture.ts";
import { ffmpeg, KEY, type Outcome, runProgram, type Taken, TestIngest } from "./rtmp.fixture.ts";

const ingest = await TestIngest.open();
const [plain, rich] = await Promise.all([makeFlv(), makeFlv({ bFrames: 2, hasSound: true })]);

type Publish = (file: string, url: string, hasSound: boolean) => Promise<Outcome>;

const publishByFfmpeg: Publish = (file, url) => ffmpeg("-i", file, "-c", "copy", "-f", "flv", url);
const publishByGst =
  (sink: string): Publish =>
  (file, url, hasSound) => {
    const video = "demux.video ! queue ! h264parse ! mux.";
    const sound = hasSound ? "demux.audio ! queue ! aacparse ! mux." : "";
    const line = `-q filesrc location=${file} ! flvdemux name=demux flvmux name=mux streamable=true ! ${sink} sync=false location=${url} ${video} ${sound}`;
    return runProgram(
      "gst-launch-1.0",
      line.split(/\s+/).filter((word) => word !== ""),
    );
  };

const CLIENTS: Readonly<Record<string, Publish>> = {
  ffmpeg: publishByFfmpeg,
  rtmp2sink: publishByGst("rtmp2sink"),
  rtmpsink: publishByGst("rtmpsink"),
};

/** The pictures and audio frames of a file are read once. */
const packetsOf = new Map<string, Promise<readonly Packet[]>>();
function readOnce(file: string): Promise<readonly Packet[]> {
  const read = packetsOf.get(file) ?? readPackets(file);
  packetsOf.set(file, read);
  return read;
}

const only = (packets: readonly Packet[], kind: Packet["kind"]) => packets.filter((packet) => packet.kind === kind);

/** `flvmux` writes 0 for times of decoding before the first picture is shown: only when pictures are shown is kept. */
function assertSame({ units, tracks }: Taken, sent: readonly Packet[], keepsDts: boolean): void {
  const came = toPackets(units);
  const plain = (packets: readonly Packet[]) =>
    only(packets, "video").map((packet) => (keepsDts ? packet : { ...packet, dtsMs: null }));
  assert.deepEqual(plain(came), plain(sent));
  // Audio before the first picture, at most one frame, is dropped.
  const digests = (packets: readonly Packet[]) => only(packets, "audio").map(({ digest }) => digest);
  const [soundCame, soundSent] = [digests(came), digests(sent)];
  assert.ok(soundCame.length >= soundSent.length - 1, `${soundCame.length} of ${soundSent.length} frames of sound`);
  assert.deepEqual(soundCame, soundSent.slice(soundSent.length - soundCame.length));
  assert.equal(tracks.length, 1);
}

for (const [client, publish] of Object.entries(CLIENTS)) {
  test(`${client}: every picture arrives, with its time and its bytes`, async () => {
    const path = `user/${client}`;
    const { code, output } = await publish(plain, ingest.url(path), false);
    assert.equal(code, 0, output);
    const taken = await ingest.finished(path);
    assertSame(taken, await readOnce(plain), client === "ffmpeg");
    const { video, audio } = taken.tracks[0] ?? assert.fail();
    assert.deepEqual([video.width, video.height, video.reorders, audio], [160, 120, false, null]);
    assert.match(codecName(video.sets[0] ?? assert.fail()), /^avc1\.64/);
    assert.equal(taken.reason, "the publisher ended the stream");
  });

  test(`${client}: delivers B-frames and audio, on a path of several segments`, async () => {
    const path = `user/${client}/over/there`;
    const { code, output } = await publish(rich, ingest.url(path), true);
    assert.equal(code, 0, output);
    const taken = await ingest.finished(path);
    assertSame(taken, await readOnce(rich), client === "ffmpeg");
    const { video, audio } = taken.tracks[0] ?? assert.fail();
    assert.deepEqual([video.reorders, audio?.sampleRate, audio?.channels], [true, 44_100, 1]);
  });

  test(`${client}: rejects a missing key, an invalid key and another user's path`, async () => {
    for (const [path, key, words] of [
      [`user/${client}-none`, null, "a valid key is needed"],
      [`user/${client}-wrong`, "wh_1_wrong", "a valid key is needed"],
      [`other/${client}`, KEY, "only below /user/"],
    ] as const) {
      const { code, output } = await publish(plain, ingest.url(path, key), false);
      assert.notEqual(code, 0, path);
      // librtmp does not print the status.
      if (client !== "rtmpsink") assert.ok(output.includes(words), output);
      assert.equal(ingest.questions.at(-1)?.path, path);
      assert.equal(
        ingest.taken.find((one) => one.path === path),
        undefined,
      );
    }
  });
}
