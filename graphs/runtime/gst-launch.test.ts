/** Lines that gst-launch takes give the same bytes here, and what it waits for ever for is an error with the reason. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";
import { compiledLaunch, start, temporaryFolder } from "../../test/graph.fixture.ts";

const folder = temporaryFolder();
const LIMITS = { timeout: 60_000, killSignal: "SIGKILL" } as const;
/** Far longer than any of them takes. */
const NO_HANG = { timeout: 120_000 };
const both = join(folder, "both.mp4");
const silent = join(folder, "silent.mp4");

const pictures = (pattern: string, frames = 3) =>
  `videotestsrc num-buffers=${frames} pattern=${pattern} ! video/x-raw,width=64,height=48,framerate=25/1`;
const encode = "x264enc tune=zerolatency speed-preset=ultrafast ! h264parse";

/** Null, or why it failed. */
async function run(line: string): Promise<string | null> {
  const graph = await start(compiledLaunch(line), []);
  return (await graph.ended).error?.message ?? null;
}

before(async () => {
  const video = `${pictures("ball", 10)} ! ${encode} ! mp4mux name=m ! filesink location=`;
  const sound = "audiotestsrc num-buffers=20 samplesperbuffer=1024 ! avenc_aac ! m.audio_0";
  assert.equal(await run(`${video}${both} ${sound}`), null);
  assert.equal(await run(`${video}${silent}`), null);
});

// Sizes are multiples of 8: the padding of odd rows is never written.
describe("gst-launch and Windhover write the same file", () => {
  const lines: Readonly<Record<string, string>> = {
    "two pads of a demuxer": `filesrc location=${both} ! qtdemux name=d d.audio_0 ! queue ! avdec_aac ! filesink location=OUT d.video_0 ! queue ! fakesink`,
    "the other pad": `filesrc location=${both} ! qtdemux name=d d.video_0 ! queue ! avdec_h264 ! filesink location=OUT d.audio_0 ! queue ! fakesink`,
    "any compatible pad": `filesrc location=${both} ! qtdemux name=d d. ! queue ! avdec_aac ! filesink location=OUT d. ! queue ! avdec_h264 ! fakesink`,
    "pads of a muxer, named before it": `filesrc location=${both} ! qtdemux name=d d.audio_0 ! queue ! m.audio_0 d.video_0 ! queue ! h264parse ! m.video_0 avimux name=m ! filesink location=OUT`,
    "properties of pads": `compositor name=c sink_1::xpos=24 sink_1::ypos=8 sink_1::width=32 sink_1::height=24 sink_1::alpha=.5 ! video/x-raw,format=I420 ! filesink location=OUT ${pictures("gradient")} ! c.sink_0 ${pictures("ball")} ! c.sink_1`,
    "properties of pads that no link names": `${pictures("gradient")} ! compositor name=c sink_1::xpos=32 sink_0::zorder=5 ! video/x-raw,format=I420 ! filesink location=OUT ${pictures("ball")} ! c.`,
    "a tee before it is made, and leaky queues": `t. ! queue leaky=no ! fakesink ${pictures("ball")} ! tee name=t t.src_7 ! queue max-size-buffers = 5 ! filesink location=OUT`,
  };
  for (const [what, line] of Object.entries(lines))
    test(what, NO_HANG, async () => {
      const [here, there] = ["here.out", "there.out"].map((name) => join(folder, name)) as [string, string];
      assert.equal(await run(line.replace("OUT", here)), null);
      await promisify(execFile)("gst-launch-1.0", ["-q", ...line.replace("OUT", there).split(" ")], LIMITS);
      const bytes = readFileSync(here);
      assert.ok(bytes.length > 0);
      assert.ok(bytes.equals(readFileSync(there)), `${bytes.length} bytes differ from those of gst-launch`);
    });
});

describe("a pad that never appears ends the graph with the pads that did", () => {
  const cases: readonly (readonly [string, string])[] = [
    [
      `filesrc location=${silent} ! qtdemux name=d d.video_0 ! queue ! fakesink d.audio_0 ! queue ! fakesink`,
      'no pad "audio_0" appeared: the stream has video_0 (video/x-h264), and no audio',
    ],
    [
      `filesrc location=${both} ! qtdemux name=d d.video_1 ! queue ! fakesink`,
      'no pad "video_1" appeared: the stream has video_0 (video/x-h264), audio_0 (audio/mpeg)',
    ],
    [
      `filesrc location=${silent} ! qtdemux name=d d. ! queue ! avdec_aac ! fakesink`,
      "no stream that fits: expected audio/mpeg, found video_0 (video/x-h264)",
    ],
    // It has no signal for "these are all": the end of its input says so.
    [
      "fakesrc num-buffers=2 ! application/x-rtp,media=video,clock-rate=90000,payload=96 ! rtpptdemux name=d d.src_96 ! fakesink",
      'no pad "src_96" appeared: the stream has no pads',
    ],
  ];
  for (const [line, says] of cases)
    test(says, NO_HANG, async () => {
      const why = await run(line);
      assert.ok(why?.includes(says), String(why));
    });
});

test("a branch may begin with an element that has request pads", NO_HANG, async () => {
  const out = join(folder, "branch.out");
  const line = `${pictures("ball")} ! tee name=t t. ! compositor sink_0::alpha=1 ! filesink location=${out}`;
  assert.equal(await run(line), null);
  assert.ok(readFileSync(out).length > 0);
});
