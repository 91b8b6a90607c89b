import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, test } from "node:test";
import fc from "fast-check";
import { compiledText } from "../../test/graph.fixture.ts";
import { compileLine, compileText, DETECT } from "./compiler.fixture.ts";
import type { GraphPlan } from "./plan.ts";
import { toDot, toMermaid } from "./plan-to-diagram.ts";
import { explain, gstLaunch, quoteShell } from "./plan-to-text.ts";

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
      "slots: dynamic branches, attached while the graph runs\n  feed\n  rtsp (path, resolution=null)",
    ]) {
      assert.ok(text.includes(part), `${part}\nis not in\n${text}`);
    }
    assert.ok(!text.includes("latency-ms"), "what only a live source needs is not said of a test pattern");
  });

  test("says how a live source is kept fed", () => {
    const { plan } = compileText(DETECT, { source: { uri: "rtsp://camera/1" } });
    const text = explain(plan ?? assert.fail());
    assert.ok(text.includes("  source: fed while the graph runs\n      latency-ms = 200\n"), text);
  });

  test("offers what can be asked of the graph: its slots and TypeScript elements, no composites", () => {
    assert.ok(
      explain(detect()).includes("  offers  alerts, detect, detections, feed, geolocate, report, rtsp, track\n"),
    );
  });
});

describe("the launch line", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["videotestsrc ! fakesink", "gst-launch-1.0 -e videotestsrc name=videotestsrc ! fakesink name=fakesink"],
    [
      "videotestsrc ! tee name=t t. ! queue ! fakesink t. ! detect ! print",
      `gst-launch-1.0 -e videotestsrc name=videotestsrc \\
    ! tee name=t allow-not-linked=true \\
    ! queue name=queue \\
    ! fakesink name=fakesink \\
  t. ! identity name=detect ! fakesink name=print sync=false`,
    ],
    [
      "videotestsrc ! keyframes interval=5 ! fakesink",
      `gst-launch-1.0 -e videotestsrc name=videotestsrc \\
    ! identity name=keyframes \\
    ! fakesink name=fakesink`,
    ],
    [
      "compositor name=m ! fakesink videotestsrc ! m.sink_1",
      `gst-launch-1.0 -e compositor name=m ! fakesink name=fakesink \\
  videotestsrc name=videotestsrc \\
  videotestsrc. ! m.sink_1`,
    ],
    [
      'filesrc location="it\'s a \\"clip\\"" ! fakesink',
      `gst-launch-1.0 -e filesrc name=filesrc 'location="it'\\''s a \\"clip\\""' ! fakesink name=fakesink`,
    ],
  ];
  for (const [line, launch] of cases) test(line, () => assert.equal(gstLaunch(lineOf(line)), launch));

  test("ends a tee on which only slots hang", () => {
    const { plan } = compileText(
      "graph: g\nchains: { main: [source, { tee: { name: t } }] }\nslots: { s: { chain: [{ from: t }, print] } }\n",
    );
    assert.match(gstLaunch(plan ?? assert.fail()), /! tee name=t allow-not-linked=true \\\n {4}! fakesink$/);
  });

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
  test("has a cluster for each segment and a colour for each kind of element", () => {
    const dot = toDot(detect());
    for (const part of [
      'digraph "detect" {',
      'label="main"',
      'label="data (branch)"',
      '"stage" -> "detect";',
      '"decode.bin" -> "decode.convert" [label="video/x-raw"];',
      '"frames" -> "slot feed" [style=dashed];',
      "labelloc=t",
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

const TEXT = `
graph: drawn
about: A graph to draw.
chains:
  main:
    - source: { uri: "test:ball?frames=5" }
    - decode
    - tee: { name: frames }
  data: [{ from: frames }, stage, { print: { name: lines } }]
slots:
  shots:
    chain: [{ from: frames }, stage, { fakesink: { sync: false } }]
`;

test("a step is a box, a chain a frame, a link an arrow, a slot a dashed one", () => {
  const { plan } = compiledText(TEXT);
  assert.ok(plan);
  const text = toMermaid(plan);
  const ids = new Map([...text.matchAll(/^ +(\w+)\["([^"]+)"\]$/gm)].map(([, id, title]) => [title, id]));
  const arrows = [...text.matchAll(/^ +(\w+) (-->|-\.->) (\w+)$/gm)].map(([, from, arrow, to]) => [from, arrow, to]);
  assert.match(text, /^flowchart LR\n {2}subgraph s0\["main"\]\n/);
  assert.deepEqual(arrows, [
    [ids.get("source"), "-->", ids.get("decode")],
    [ids.get("decode"), "-->", ids.get("frames: tee")],
    [ids.get("frames: tee"), "-->", ids.get("stage")],
    [ids.get("stage"), "-->", ids.get("lines: print")],
    [ids.get("frames: tee"), "-.->", ids.get("slot shots")],
  ]);
  assert.match(text, new RegExp(`^ +class ${ids.get("lines: print")} ours$`, "m"));
});
