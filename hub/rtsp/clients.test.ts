import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  assertPlayed,
  countSounds,
  digestPictures,
  makeClip,
  players,
  publishers,
  type Way,
} from "./clients.fixture.ts";
import { openServer } from "./rtsp.fixture.ts";

const WAYS: readonly Way[] = ["tcp", "udp"];

describe("real clients", { concurrency: 2 }, () => {
  const published = new Map<string, () => void>();
  let server: Awaited<ReturnType<typeof openServer>>;
  before(async () => {
    server = await openServer({}, { published: ({ path }) => published.get(path)?.() });
  });
  after(async () => {
    await server.close();
    assert.deepEqual(server.faults, []);
    assert.equal(server.connections.count, 0);
  });

  const whenPublished = (path: string) => new Promise<void>((resolve) => published.set(path, resolve));

  for (const name of ["ffmpeg", "gst"] as const) {
    for (const way of WAYS) {
      test(`${name} publishes over ${way.toUpperCase()}, and ffmpeg and GStreamer see every picture over TCP and UDP`, async () => {
        const clip = await makeClip();
        const path = `owner/${name}/${way}`;
        const begun = whenPublished(path);
        const publisher = publishers[name](clip, server.url(path), way);
        await begun;
        const playing = WAYS.flatMap((playWay) => [
          { who: `ffmpeg ${playWay}`, ...players.ffmpeg(server.url(path), playWay) },
          { who: `gst ${playWay}`, ...players.gst(server.url(path), playWay) },
        ]);
        assert.equal(await publisher.output, "");
        const source = await digestPictures(clip);
        for (const { who, pictures, output } of playing) {
          assert.equal(await output, "", who);
          assertPlayed(await pictures(), source, 12);
        }
      });
    }
  }

  test("B-frames come out in the order of showing, sound comes along, the key may be in the query", async () => {
    const clip = await makeClip({ bFrames: 2, hasSound: true });
    const path = "owner/b";
    const url = `${server.url(path, null)}?api_key=a-key`;
    const begun = whenPublished(path);
    const publisher = publishers.ffmpeg(clip, url, "tcp");
    await begun;
    const playing = [players.ffmpeg(url, "tcp"), players.ffmpeg(url, "udp"), players.gst(url, "tcp")];
    const sounds = await Promise.all(WAYS.map((way) => countSounds(url, way)));
    assert.equal(await publisher.output, "");
    const source = await digestPictures(clip);
    for (const { pictures, output } of playing) {
      assert.equal(await output, "");
      assertPlayed(await pictures(), source, 12);
    }
    for (const count of sounds) assert.ok(count > 40, `${count} frames of sound`);
  });
});
