/** Attaches and detaches outputs of a busy graph: detections and other outputs lose no frame. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ForkedRunner, times } from "../../graphs/runtime/runner/runner.fixture.ts";
import { SENT } from "../../graphs/runtime/runner/sent.fixture.ts";
import { ForkedHub } from "../../hub/hub.fixture.ts";
import { progress, rounds } from "./rounds.fixture.ts";

const hub = await ForkedHub.open();
after(() => hub.remove());
const urlOf = async (path: string): Promise<string> => (await hub.rtsp(path)).replace("//", "//run:sesame@");
const published = (path: string) => hub.next("published", ({ stream }) => stream.path === path);

test("attaching and detaching outputs loses no frame of detections and other outputs", {
  timeout: 1_800_000,
}, async () => {
  const runner = new ForkedRunner();
  // Small enough that a busy machine can encode it four times: no drops for lack of processor time.
  const sourceUri = "test:ball?width=160&height=90&fps=10";
  await runner.start({ graph: "sent", graphText: SENT, sourceUri });
  await runner.until("flowing");
  const of = (attachment: string) => runner.of("attachment").filter((event) => event.attachment === attachment);
  const load = ["steady", "load-1", "load-2"];
  for (const attachment of load) {
    const params = { url: await urlOf(`anna/${attachment}`) };
    await runner.ask({ type: "attach", attachment, slot: "rtsp", params });
  }
  for (const attachment of load) await published(`anna/${attachment}`);
  const total = rounds(4, 50);
  for (let round = 0; round < total; round++) {
    const path = `anna/round-${round}`;
    await runner.ask({ type: "attach", attachment: "guest", slot: "rtsp", params: { url: await urlOf(path) } });
    // Every other one is detached before it is published.
    if (round % 2 === 0) await published(path);
    await runner.ask({ type: "detach", attachment: "guest" });
    if (round % 2 === 0) await hub.next("unpublished", (event) => event.path === path);
    progress("outputs", round + 1, total);
  }
  await runner.ask({ type: "stop" });
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
  const received = times(runner);
  assert.deepEqual(
    received,
    received.map((_, index) => index * 100),
  );
  for (const attachment of load) {
    // Frames may be dropped on a slow machine before the output is connected.
    const atFirst = of(attachment).find(({ status }) => status === "live")?.framesDropped;
    assert.equal(of(attachment).at(-1)?.framesDropped, atFirst);
    assert.deepEqual([...new Set(of(attachment).map(({ status }) => status))], ["starting", "live"]);
  }
});
