/** What the compiler says of metadata behind GStreamer's elements, against the elements themselves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { defineElement } from "../../elements/element.ts";
import { collector, compiledLaunch, inputWith, start } from "../../test/graph.fixture.ts";
import { losesMetadata } from "../compiler/metadata.ts";

const mark = defineElement({
  name: "mark",
  about: "Test: writes metadata.",
  example: "",
  kind: "transform",
  caps: "video/x-raw",
  properties: Type.Object({}),
  create: () => ({ process: (frame) => frame.write({ mark: frame.index }) }),
});

const ELEMENTS = [
  ...["compositor", "interlace", "rawvideoparse width=64 height=48"],
  ...["videoconvert", "videoscale", "videorate", "deinterlace", "funnel", "jpegenc", "x264enc", "videocrop"],
];

for (const words of ELEMENTS) {
  const name = words.split(" ", 1).join();
  test(`${name} keeps or drops metadata as the compiler assumes`, async () => {
    const factory = inputWith().registry.get(name) ?? assert.fail(`no ${name}`);
    let seen = 0;
    let kept = 0;
    const extra = [
      mark,
      collector(({ meta }) => {
        seen += 1;
        if (meta.mark !== undefined) kept += 1;
      }),
    ];
    const line = `videotestsrc num-buffers=4 ! video/x-raw,width=64,height=48 ! mark ! ${words} ! collect`;
    const graph = await start(compiledLaunch(line, ...extra), extra);
    assert.deepEqual(await graph.ended, { state: "finished", error: null });
    assert.ok(seen > 0);
    assert.equal(kept, losesMetadata(factory) ? 0 : seen);
  });
}
