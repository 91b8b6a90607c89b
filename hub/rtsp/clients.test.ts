import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { NAL, nalType } from "../../media/h264/nal.ts";
import { publishRtsp } from "../../media/rtsp/publisher.ts";
import { omitInterruptedPause } from "../../test/gst-player.fixture.ts";
import { until } from "../../test/watch.fixture.ts";
import {
  assertPlayed,
  digestPictures,
  listSizes,
  makeClip,
  type Program,
  play,
  players,
  publishers,
  readPictures,
  type Way,
} from "./clients.fixture.ts";
import { openServer } from "./rtsp.fixture.ts";

const WAYS: readonly Way[] = ["tcp", "udp"];
const KEY_EVERY = 12;
/** Pictures that are published after the last player has come. */
const MORE = 30;
/** Pictures of an open GOP that a player cannot decode at its beginning and end. */
const UNDECODED = 4;

describe("real clients", { concurrency: 2 }, () => {
  let server: Awaited<ReturnType<typeof openServer>>;
  before(async () => {
    // Players that the machine lets wait have time to leave: the hub would end their connection before their last request.
    const limits = { frozenMs: 20_000, stalledMs: 20_000, helloMs: 30_000 };
    server = await openServer(limits, {}, { leaveMs: 120_000 });
  });
  after(async () => {
    await server.close();
    assert.deepEqual(server.faults, []);
    assert.equal(server.connections.count, 0);
  });
  const find = (path: string) => server.streams.list().find((stream) => stream.path === path);

  /** Stops the publisher as its user would, when all players are there and have seen something. */
  async function endWhenSeen(path: string, readers: number, publisher: Program): Promise<void> {
    await until(() => find(path)?.readers === readers);
    const enough = (find(path)?.pictures ?? 0) + MORE;
    await until(() => (find(path)?.pictures ?? 0) >= enough);
    publisher.child.kill("SIGINT");
    await publisher.output;
  }

  describe("see every picture that was published, bit for bit", { concurrency: 2 }, () => {
    let clip = "";
    let source: readonly string[] = [];
    before(async () => {
      clip = await makeClip();
      source = await digestPictures(clip);
    });

    // Every publisher, and every player with a publisher by TCP and by UDP.
    for (const [name, way, seen] of [
      ["ffmpeg", "tcp", ["ffmpeg tcp", "ffmpeg udp", "gst tcp", "gst udp"]],
      ["gst", "udp", ["ffmpeg tcp", "gst udp"]],
      ["ffmpeg", "udp", ["ffmpeg udp", "gst tcp"]],
      ["gst", "tcp", ["gst tcp"]],
    ] as const) {
      test(`by ${name} over ${way.toUpperCase()}`, async () => {
        const path = `owner/${name}/${way}`;
        const publisher = publishers[name](clip, server.url(path), way);
        await until(() => find(path) !== undefined);
        const playing = seen.map((who) => ({ who, ...play(who, server.url(path)) }));
        await endWhenSeen(path, playing.length, publisher);
        const ends: Record<Way, number[]> = { tcp: [], udp: [] };
        for (const { who, playWay, pictures, output } of playing) {
          assert.equal(await output, "", who);
          const played = await pictures();
          assert.ok(played.length >= MORE, `${who} played ${played.length} pictures`);
          ends[playWay].push(assertPlayed(played, source, KEY_EVERY));
        }
        const [last = 0] = ends.tcp;
        for (const end of ends.tcp) assert.equal(end, last, "some players saw the last pictures and some did not");
        // Over UDP the goodbye has a socket of its own: a player that had to wait reads it before the last pictures.
        for (const end of ends.udp) assert.ok(end <= last, `${end} is after the last picture ${last}`);
      });
    }
  });

  test("plays B-frames in display order, with audio, with the key in the query", async () => {
    const clip = await makeClip({ bFrames: 2, hasSound: true });
    const source = await digestPictures(clip);
    const path = "owner/b";
    const url = `${server.url(path, null)}?api_key=a-key`;
    const publisher = publishers.ffmpeg(clip, url, "tcp");
    await until(() => find(path) !== undefined);
    const withSound = WAYS.map((way) => players.ffmpeg(url, way, { hasSound: true }));
    const playing = [...withSound, players.gst(url, "tcp")];
    await endWhenSeen(path, playing.length, publisher);
    for (const { pictures, output } of playing) {
      assert.equal(await output, "");
      const played = await pictures();
      assert.ok(played.length >= MORE);
      // The publisher was stopped anywhere: pictures that are shown before its last ones may not have come.
      assertPlayed(played.slice(0, -3), source, KEY_EVERY);
    }
    for (const { countSounds } of withSound) {
      const count = await countSounds();
      assert.ok(count > MORE, `${count} frames of sound`);
    }
  });

  test("H.265 with open GOPs: players start with a keyframe and see every picture, bit for bit", async () => {
    const clip = await makeClip({ codec: "h265", bFrames: 2, seconds: 30 });
    const source = await digestPictures(clip);
    // ffmpeg sends parameter sets in its SDP only, GStreamer with every keyframe.
    for (const [name, way, seen] of [
      ["ffmpeg", "tcp", ["ffmpeg udp", "gst tcp"]],
      ["gst", "udp", ["ffmpeg tcp", "gst udp"]],
    ] as const) {
      const path = `owner/h265/${name}`;
      const publisher = publishers[name](clip, server.url(path), way, "h265");
      await until(() => find(path) !== undefined);
      const playing = seen.map((who) => ({ who, ...play(who, server.url(path), "h265") }));
      await endWhenSeen(path, playing.length, publisher);
      for (const { who, pictures, output } of playing) {
        assert.equal(await output, "", who);
        const played = await pictures();
        // Not those that refer to pictures before the first keyframe, or after the end of the publisher.
        assert.ok(played.length >= MORE - UNDECODED, `${who} played ${played.length} pictures`);
        assertPlayed(played.slice(0, -UNDECODED), source, KEY_EVERY);
      }
    }
  });

  test("a publisher that changes the size of its picture is followed", async () => {
    const path = "owner/sizes";
    const [large, small] = await Promise.all(
      ["320x240", "160x120"].map(async (size) => readPictures(await makeClip({ seconds: 1, size }))),
    );
    assert.ok(large && small);
    const sps = large[0]?.find((nal) => nalType(nal) === NAL.sps) ?? assert.fail("no SPS");
    const pps = large[0]?.find((nal) => nalType(nal) === NAL.pps) ?? assert.fail("no PPS");
    const video = { codec: "h264", sets: [sps, pps], width: 320, height: 240, reorders: false } as const;
    const publisher = await publishRtsp(server.url(path), { video, audio: null });
    let timeUs = 0;
    const send = async (pictures: readonly (readonly Uint8Array[])[]) => {
      for (const parts of pictures) {
        const isKey = parts.some((nal) => nalType(nal) === NAL.idr);
        const times = { dtsUs: timeUs, ptsUs: timeUs, captureMs: Date.now() };
        assert.ok(publisher.send({ kind: "video", ...times, isKey, parts }));
        timeUs += 40_000;
        await setTimeout(40);
      }
    };
    await send(large);
    const player = players.gst(server.url(path), "tcp");
    while (find(path)?.readers !== 1) await send(large);
    await send(small);
    await publisher.close();
    assert.equal(omitInterruptedPause(await player.output), "");
    const sizes = await listSizes(player.file);
    assert.deepEqual([...new Set(sizes)], ["320x240", "160x120"]);
    assert.equal(sizes.filter((size) => size === "160x120").length, small.length);
  });
});
