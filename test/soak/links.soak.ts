/**
 * SRT over a bad network: datagrams between a publisher and the hub are delayed and lost, both ways. Frames and their latency
 * are read back from the time code in each picture. A relay of datagrams in this process takes the place of `tc netem`, which
 * not every kernel has.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { KEY, testFolder } from "../../hub/rtmp/rtmp.fixture.ts";
import { openSrtIngest } from "../../hub/srt/srt.fixture.ts";
import { ageMs, publishTimeCode, readTimeCode } from "../../tools/bench/media/time-code.ts";
import { rounds, seededRandom } from "./rounds.fixture.ts";

const [WIDTH, HEIGHT] = [320, 180];
const SECONDS = rounds(5, 60);
const FPS = 25;
const LATENCY_MS = 250;
/** Each way, and the largest deviation. */
const DELAY_MS = 20;
const DEVIATION_MS = 2;
const HOST = "127.0.0.1";
const START_CODE = Buffer.from([0, 0, 0, 1]);

const { seed, next } = seededRandom();
const ingest = await openSrtIngest({ latencyMs: LATENCY_MS });
const folder = testFolder();

async function bind(): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.bind(0, HOST);
  await once(socket, "listening");
  after(() => socket.close());
  return socket;
}

/** Relays datagrams of one client; `share` of them are lost, each way. */
async function openLink(share: number): Promise<{ readonly port: number; readonly lost: () => number }> {
  const [front, back] = [await bind(), await bind()];
  let client = 0;
  let lost = 0;
  const pass = (send: () => void): void => {
    if (next() < share) lost++;
    else setTimeout(send, DELAY_MS + (next() * 2 - 1) * DEVIATION_MS);
  };
  front.on("message", (data, from) => {
    client = from.port;
    pass(() => back.send(data, ingest.port, HOST));
  });
  back.on("message", (data) => pass(() => front.send(data, client, HOST)));
  return { port: front.address().port, lost: () => lost };
}

function readCodes(stream: Buffer): (number | null)[] {
  const file = join(folder, "stream.h264");
  writeFileSync(file, stream);
  const decoded = execFileSync(
    "ffmpeg",
    ["-v", "error", "-f", "h264", "-i", file, "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray", "-"],
    { maxBuffer: 2 ** 30 },
  );
  const bytes = WIDTH * HEIGHT;
  return Array.from({ length: Math.floor(decoded.length / bytes) }, (_, i) =>
    readTimeCode({ data: decoded.subarray(i * bytes, (i + 1) * bytes), width: WIDTH, height: HEIGHT, step: 1 }),
  );
}

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

for (const percent of [0, 1, 5, 10])
  test(`SRT delivers the frames of a publisher at ${percent} % loss`, async (t) => {
    const { port, lost: lostDatagrams } = await openLink(percent / 100);
    const path = `user/loss-${percent}`;
    const arrivedMs: number[] = [];
    const publisher = publishTimeCode({
      ...{ width: WIDTH, height: HEIGHT, framesPerSecond: FPS },
      url: `srt://${HOST}:${port}?streamid=#!::r=${path},u=${KEY},m=publish&latency=${LATENCY_MS * 1000}`,
    });
    t.after(() => publisher.stop());
    await ingest.until(() => ingest.streams.tracks(path));
    ingest.streams.read(path, {
      setTracks() {},
      push: (unit, isCached) => void (unit.kind === "video" && !isCached && arrivedMs.push(Date.now())),
      end() {},
    });
    const { link, jitterMs } = await ingest.until(() => {
      const stats = ingest.streams.list().find((stream) => stream.path === path);
      return arrivedMs.length >= SECONDS * FPS && stats;
    });
    await publisher.stop("SIGINT");
    const { units } = await ingest.finished(path);
    const pictures = units.filter(({ kind }) => kind === "video");
    const codes = readCodes(Buffer.concat(pictures.flatMap(({ parts }) => parts.flatMap((nal) => [START_CODE, nal]))));
    const damaged = codes.filter((code) => code === null).length;
    // The last frames that arrived are the last that were decoded.
    const shown = codes.slice(-arrivedMs.length);
    const ages = arrivedMs
      .flatMap((atMs, i) => (shown[i] == null ? [] : [ageMs(atMs, shown[i])]))
      .sort((a, b) => a - b);
    const { received = 0, lost = 0, dropped = 0, rttMs = null } = link ?? {};
    t.diagnostic(
      [
        `${percent} % loss each way (${lostDatagrams()} datagrams, seed ${seed})`,
        `${pictures.length} of ${publisher.frames} frames, ${damaged} damaged`,
        `packets: ${received} received, ${lost} missing, ${dropped} lost for good`,
        `round trip ${rttMs?.toFixed(0)} ms, jitter ${jitterMs.toFixed(1)} ms`,
        `latency ${percentile(ages, 0.5)} ms (95 %: ${percentile(ages, 0.95)} ms)`,
      ].join("; "),
    );
    assert.equal(damaged, 0);
    assert.equal(codes.length, pictures.length);
    if (percent > 0) assert.ok(lost > 0, "the network loses packets");
    if (percent <= 5) assert.ok(dropped <= received * 0.002, `${dropped} of ${received} packets are lost for good`);
  });
