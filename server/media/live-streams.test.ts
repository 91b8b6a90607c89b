import assert from "node:assert/strict";
import { test } from "node:test";
import { type HubStats, LiveStreams } from "./live-streams.ts";

const stats = (streams: HubStats["streams"], refused = 0): HubStats => ({
  ...{ type: "stats", rssBytes: 1000, connections: 2, refused, streams },
});
const flow = (path: string, pictures: number) => ({
  path,
  pictures,
  bytes: pictures * 10,
  readers: 1,
  missed: 0,
  jitterMs: 0,
});

test("adds up traffic over streams that come, go and come again, and over hubs", () => {
  const live = new LiveStreams();
  live.add({ path: "ada/a", protocol: "rtsp", codec: "h264", width: 1, height: 1, hasAudio: false });
  live.measure(stats([flow("ada/a", 10), flow("ada/not-yet-published", 1)], 3));
  live.measure(stats([flow("ada/a", 30), flow("ada/not-yet-published", 2)], 4));
  assert.deepEqual([live.numbers.pictures, live.numbers.refused], [32, 4]);
  live.measure(stats([flow("ada/a", 5)], 4));
  assert.equal(live.numbers.pictures, 37, "the counter started again");
  live.clear();
  assert.deepEqual([live.numbers.streams, live.numbers.readers, live.find("ada/a")], [0, 0, null]);
  live.measure(stats([flow("ada/a", 2)], 1));
  assert.deepEqual([live.numbers.pictures, live.numbers.bytes, live.numbers.refused], [39, 390, 5]);
});
