import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordedFeed } from "./recorded-feed.ts";
import { SampleWriter, StoredSamples } from "./stored-samples.ts";

const sampleAt = (index: number) => ({
  ...{ timeMs: 0, receivedMs: null, hfov: 60, vfov: 34 },
  position: index % 3 === 0 ? null : { latitude: 41 + index / 1000, longitude: 2, altitude: 180, relAltitude: 60 },
  attitude: index % 2 === 0 ? null : { yaw: index, pitch: -45, roll: 0 },
});

async function store(count: number): Promise<StoredSamples> {
  const writer = new SampleWriter();
  // Not in the order of time.
  for (const index of Array.from({ length: count }, (_, at) => at).reverse())
    writer.add(5000 + index * 100, sampleAt(index));
  return StoredSamples.open(await writer.finish(), -5000, 40);
}

test("samples are read as written, in the order of time, at the time of the video", async () => {
  const stored = await store(3000);
  assert.equal(stored.count, 3000);
  const [, second, third] = stored.slice(0, 3, 1_000_000);
  assert.deepEqual(second, {
    ...{ timeMs: 1_000_100, receivedMs: null, videoErrorMs: 40, hfov: 60, vfov: 34 },
    position: { latitude: 41.001, longitude: 2, altitude: 180, relAltitude: 60 },
    attitude: { yaw: 1, pitch: -45, roll: 0 },
  });
  assert.equal(third?.attitude, null);
  assert.equal(stored.findIndex(250), 3);
  assert.equal(stored.findIndex(-1), 0);
  assert.equal(stored.findIndex(1e9), 3000);
});

test("a runner gets the samples around its position first, then all that follow", async () => {
  const feed = new RecordedFeed(await store(3000));
  const first = feed.begin(0, 100_000).samples;
  assert.ok((first[0]?.timeMs ?? 0) <= 95_000 && (first.at(-1)?.timeMs ?? 0) > 100_000);
  const sent: number[] = first.map(({ timeMs }) => timeMs ?? 0);
  await feed.send(async ({ samples }) => void sent.push(...samples.map(({ timeMs }) => timeMs ?? 0)));
  assert.equal(sent.at(-1), 299_900);
  assert.deepEqual(
    sent,
    [...sent].sort((a, b) => a - b),
  );
  // A runner that fails to take a batch ends it; the next one begins again.
  feed.begin(0, 0);
  await assert.rejects(feed.send(async () => Promise.reject(new Error("gone"))));
  assert.equal(feed.begin(0, 0).samples[0]?.timeMs, 0);
});
