/** RTSP players get every picture of an RTMP publisher. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, test } from "node:test";
import { poll } from "../../test/watch.fixture.ts";
import { assertPlayed, digestPictures, makeClip, players } from "../rtsp/clients.fixture.ts";
import { openRtsp } from "../rtsp/session.ts";
import { KEY, TestIngest } from "./rtmp.fixture.ts";

const KEY_EVERY = 12;
const ingest = await TestIngest.open();
const { streams, connections, limits } = ingest;
const rtsp = await openRtsp({
  ...{ host: "127.0.0.1", port: 0, settings: { limits }, streams, connections },
  access: { authorize: (question) => ingest.authorize(question) },
  log: () => {},
});
after(() => rtsp.close());

test("passes B-frames and audio on", async () => {
  const clip = await makeClip({ seconds: 4, bFrames: 2, hasSound: true, keyEvery: KEY_EVERY });
  const words = ["-v", "error", "-nostdin", "-re", "-i", clip, "-c", "copy", "-f", "flv", ingest.url("user/through")];
  const publisher = spawn("ffmpeg", words, { stdio: "inherit" });
  after(() => publisher.kill("SIGKILL"));
  const published = once(publisher, "exit");
  await ingest.until(() => ingest.taken[0]);
  // On a busy machine, the clip would end before the player has joined.
  publisher.kill("SIGSTOP");
  const countReaders = () => streams.list()[0]?.readers ?? 0;
  const before = countReaders();
  const url = `rtsp://any:${KEY}@127.0.0.1:${rtsp.port}/user/through`;
  const playing = players.ffmpeg(url, "tcp", { hasSound: true });
  await poll("the player has joined", () => countReaders() > before);
  publisher.kill("SIGCONT");
  assert.deepEqual(await published, [0, null]);
  await playing.output;
  const source = await digestPictures(clip);
  assertPlayed(await playing.pictures(), source, KEY_EVERY);
  assert.ok((await playing.countSounds()) > 0);
  assert.equal(
    (await ingest.finished("user/through")).units.filter(({ kind }) => kind === "video").length,
    source.length,
  );
});
