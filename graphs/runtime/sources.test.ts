import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { build, gate, NO_HANG, never } from "../../native/pipeline.fixture.ts";
import { makeClip, temporaryFolder } from "../../test/graph.fixture.ts";
import { pauseAt } from "./sources.ts";

const LATE_MS = 300;

test("finds the position of a file whose first frame arrives before PAUSED is known", NO_HANG, async () => {
  const location = await makeClip(temporaryFolder(), 60, "width=64&height=48");
  const first = gate<bigint | null>();
  const pipeline = await build({
    ...{ file: ["filesrc", { location }], demux: ["qtdemux"], decode: ["avdec_h264"], pace: ["clocksync"] },
    out: ["fakesink"],
  });
  pipeline.tap("pace", ({ ptsNs }) => first.open(ptsNs));
  // As on a machine whose event loop is late.
  const late = {
    meter: pipeline.meter.bind(pipeline),
    meters: pipeline.meters.bind(pipeline),
    seek: pipeline.seek.bind(pipeline),
    async setState(...given: Parameters<typeof pipeline.setState>) {
      const isLive = await pipeline.setState(...given);
      await sleep(LATE_MS);
      return isLive;
    },
  };
  try {
    assert.equal(await pauseAt(late, "pace", 1_000_000_000n, never), true);
    await pipeline.setState("PLAYING");
    assert.equal(await first.opened, 1_000_000_000n);
  } finally {
    await pipeline.close();
  }
});
