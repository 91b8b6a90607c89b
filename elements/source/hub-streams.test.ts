/** Real graphs that pull unusual streams from a real hub. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { after, test } from "node:test";
import { ForkedHub } from "../../hub/hub.fixture.ts";
import { clip } from "../../hub/publishers.fixture.ts";
import { RawClient } from "../../hub/rtmp/raw-client.fixture.ts";
import { shiftTags, tagsOf } from "../../hub/rtmp/tags.fixture.ts";
import { collector, compiledLaunch, start, temporaryFolder } from "../../test/graph.fixture.ts";
import {
  assertInOrder,
  assertSeen,
  makeCounted,
  ptsOf,
  readCounted,
  watchCounted,
} from "../../test/soak/counted.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";

const hub = await ForkedHub.open();
after(() => hub.remove());
const urlOf = async (path: string): Promise<string> => (await hub.rtsp(path)).replace("//", "//any:sesame@");

const CODING = { bFrames: 3, gop: "open" } as const;
const WANTED = 40;
/** A busy machine drops others. */
const FEWEST = WANTED / 5;

test("pictures with B-frames keep their order and times, decoded and in a recording", async () => {
  const words = ["-v", "error", "-nostdin", "-re", "-i", makeCounted(CODING), "-c", "copy", "-f", "rtsp"];
  const publisher = spawn("ffmpeg", [...words, "-rtsp_transport", "tcp", await urlOf("anna/counted")], {
    stdio: "ignore",
  });
  try {
    await hub.next("published", ({ stream }) => stream.path === "anna/counted");
    const file = join(temporaryFolder(), "processed.mp4");
    const seen = await watchCounted(await urlOf("anna/counted"), "numbers", file, WANTED);
    assertSeen(seen, CODING, FEWEST);
    const processed = readCounted(file);
    assertInOrder("recording", processed, ptsOf(processed), { fewest: FEWEST });
  } finally {
    publisher.kill("SIGKILL");
  }
});

const SECOND_MS = 1000;
const TICK_MS = 20;

test("a graph goes on while its stream turns to portrait and back", async (t) => {
  const client = await RawClient.publishing({ port: Number(new URL(await hub.rtmp("x")).port) }, "anna/turning");
  const forms = [tagsOf(clip("plain")), tagsOf(clip("portrait"))];
  const began = performance.now();
  let sent = 0;
  // A second of each, in turn.
  const sending = setInterval(() => {
    while (sent * SECOND_MS <= performance.now() - began) {
      for (const tag of shiftTags(forms[sent % forms.length] ?? [], sent * SECOND_MS)) client.send(tag);
      sent += 1;
    }
  }, TICK_MS);
  t.after(() => {
    clearInterval(sending);
    client.socket.destroy();
  });
  await hub.next("published", ({ stream }) => stream.path === "anna/turning");
  const watch = new Watch();
  const sizes: string[] = [];
  const sink = collector(({ format: { width, height } }) => {
    const size = `${width}x${height}`;
    if (sizes.at(-1) !== size) sizes.push(size);
    watch.check();
  });
  const line = `source uri="${await urlOf("anna/turning")}" ! decode ! collect`;
  const graph = await start(compiledLaunch(line, sink), [sink]);
  await watch.until("frames of both sizes, and of the first again", () => sizes.length >= 3);
  assert.deepEqual([...new Set(sizes)].sort(), ["160x96", "96x160"]);
  assert.equal(graph.state, "running");
  assert.deepEqual(await graph.stop(), { state: "finished", error: null });
});
