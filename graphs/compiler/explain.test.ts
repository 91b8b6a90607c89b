import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, test } from "node:test";
import fc from "fast-check";
import { compileLine, compileText, DETECT } from "./compiler.fixture.ts";
import { toDot } from "./dot.ts";
import { explain } from "./explain.ts";
import { gstLaunch, quoteShell } from "./gst-launch.ts";
import type { GraphPlan } from "./plan.ts";

const lineOf = (line: string): GraphPlan => compileLine(line).plan ?? assert.fail();
const detect = (): GraphPlan => compileText(DETECT).plan ?? assert.fail();

describe("explain", () => {
  test("says where each node and property comes from", () => {
    const text = explain(detect());
    for (const part of [
      "graph detect: Detect, track and geolocate objects on one source.",
      "  source  test:ball at pace fast",
      '  model      = "default"',
      "  confidence = 0.4  (live)",
      "segment main\n  source: videotestsrc of source, line 8\n      pattern = ball  (set by source)",
      "  detect: detect (TypeScript), line 11 ← stage\n      model = default  (line 11, from $model)",
      "segment data, a branch of frames\n  detections: detections (TypeScript), line 19 ← frames.src_%u",
      "  driver source (source): {",
      "slots, attached while the graph runs\n  feed\n  rtsp (path, resolution=null)",
    ]) {
      assert.ok(text.includes(part), `${part}\nis not in\n${text}`);
    }
  });
});

describe("the launch line", () => {
  const cases: readonly (readonly [string, string])[] = [
    [
      "videotestsrc pattern=ball ! queue ! fakesink",
      "gst-launch-1.0 -e videotestsrc name=videotestsrc pattern=ball ! queue name=queue ! fakesink name=fakesink",
    ],
    [
      "videotestsrc ! tee name=t t. ! queue ! fakesink t. ! detect ! print",
      "gst-launch-1.0 -e videotestsrc name=videotestsrc ! tee name=t allow-not-linked=true ! queue name=queue ! fakesink name=fakesink \\\n  t. ! identity name=detect ! fakesink name=print sync=false",
    ],
    [
      "compositor name=m ! fakesink videotestsrc ! m.sink_1",
      "gst-launch-1.0 -e compositor name=m ! fakesink name=fakesink \\\n  videotestsrc name=videotestsrc \\\n  videotestsrc. ! m.sink_1",
    ],
    [
      'filesrc location="it\'s a \\"clip\\"" ! fakesink',
      `gst-launch-1.0 -e filesrc name=filesrc 'location="it'\\''s a \\"clip\\""' ! fakesink name=fakesink`,
    ],
  ];
  for (const [line, launch] of cases) test(line, () => assert.equal(gstLaunch(lineOf(line)), launch));

  test("reaches the program as it was meant, whatever is in a value", () => {
    const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }).filter((text) => !text.includes("\0"));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
        const shown = execFileSync("/bin/sh", ["-c", `printf '%s\\0' ${words.map(quoteShell).join(" ")}`], {
          encoding: "utf8",
        });
        assert.deepEqual(shown.split("\0").slice(0, -1), words);
      }),
      { numRuns: 20 },
    );
  });
});

describe("dot", () => {
  test("has a cluster for each segment and tells the two kinds of element apart", () => {
    const dot = toDot(detect());
    for (const part of [
      'digraph "detect" {',
      'label="main"',
      'label="data (branch)"',
      '"stage" -> "detect";',
      '"decode.bin" -> "decode.convert" [label="video/x-raw"];',
      '"slot feed"',
    ]) {
      assert.ok(dot.includes(part), `${part}\nis not in\n${dot}`);
    }
    const fillOf = (node: string) => new RegExp(`"${node}" \\[.*fillcolor="(#\\w+)"`).exec(dot)?.[1];
    assert.notEqual(fillOf("detect"), fillOf("frames"));
  });

  test("quotes what would be syntax", () => {
    const dot = toDot(lineOf(`filesrc location='a"b\\c' ! fakesink`));
    assert.ok(dot.includes(String.raw`location = a\"b\\c`), dot);
  });
});
