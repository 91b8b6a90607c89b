import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { compileLine, compileText, messagesOf } from "./compiler.fixture.ts";

const DEMUX = "filesrc location=a.mp4 ! qtdemux name=d";
const linksOf = (line: string) => {
  const compiled = compileLine(line);
  assert.deepEqual(messagesOf(compiled), []);
  const links = [compiled.plan?.main, ...(compiled.plan?.branches ?? [])].flatMap((segment) => segment?.links ?? []);
  return links
    .filter((link) => link.fromPad !== undefined || link.toPad !== undefined)
    .map(({ from, fromPad, to, toPad }) => `${from}.${fromPad ?? ""} > ${to}.${toPad ?? ""}`);
};

describe("pads are linked by name", () => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    [
      "pads that appear while running",
      `${DEMUX} d.video_0 ! fakesink d.audio_1 ! queue ! fakesink`,
      ["d.video_0 > fakesink.", "d.audio_1 > queue."],
    ],
    [
      "any pad of a template",
      `${DEMUX} d.video_%u ! fakesink d.video_%u ! queue ! fakesink`,
      ["d.video_%u > fakesink.", "d.video_%u > queue."],
    ],
    [
      "pads that are requested",
      "videotestsrc ! x264enc ! m.video_3 mp4mux name=m ! fakesink",
      ["x264enc. > m.video_3"],
    ],
    [
      "unnamed pads get the free numbers",
      "videotestsrc ! c. videotestsrc ! c.sink_0 videotestsrc ! c. compositor name=c ! fakesink",
      ["videotestsrc. > c.sink_1", "videotestsrc-2. > c.sink_0", "videotestsrc-3. > c.sink_2"],
    ],
    [
      "a property of a pad names it, and the pads are numbered as they are linked",
      "videotestsrc ! compositor name=c sink_1::xpos=9 ! fakesink videotestsrc ! c.",
      ["videotestsrc. > c.sink_0", "videotestsrc-2. > c.sink_1"],
    ],
    [
      "GStreamer numbers them where no pad has a name",
      "videotestsrc ! compositor name=c ! fakesink videotestsrc ! c.",
      ["videotestsrc. > c.sink_%u", "videotestsrc-2. > c.sink_%u"],
    ],
  ];
  for (const [what, line, links] of cases) test(what, () => assert.deepEqual(linksOf(line), links));

  test("in a graph file too", () => {
    const { plan, faults } = compileText(
      [
        "graph: g",
        "chains:",
        "  main: [{ filesrc: { location: a.mp4 } }, { qtdemux: { name: d } }]",
        "  video: [{ from: d.video_0 }, h264parse, { to: m.video_0 }]",
        "  out: [{ mp4mux: { name: m } }, { filesink: { location: b.mp4 } }]",
        "",
      ].join("\n"),
    );
    assert.deepEqual(messagesOf({ faults }), []);
    assert.deepEqual(
      plan?.main.links.filter((link) => link.fromPad === "video_0" || link.toPad === "video_0"),
      [
        { from: "d", fromPad: "video_0", to: "h264parse" },
        { from: "h264parse", to: "m", toPad: "video_0" },
      ],
    );
  });
});

describe("an unavailable pad is a fault where it is named", () => {
  const cases: readonly (readonly [string, string])[] = [
    [
      `${DEMUX} d.vdieo_0 ! fakesink`,
      'launch:1:41: "d" has no output pad "vdieo_0" (expected video_%u, audio_%u; did you mean "video_0"?)',
    ],
    [
      `${DEMUX} d.sink ! fakesink`,
      'launch:1:41: "d" has no output pad "sink", only an input pad of that name (expected video_%u, audio_%u)',
    ],
    [
      "videotestsrc ! x264enc ! m.vide_0 mp4mux name=m ! fakesink",
      'launch:1:26: "m" has no input pad "vide_0" (expected video_%u, audio_%u; did you mean "video_0"?)',
    ],
    [
      `${DEMUX} d.video_0 ! fakesink d.video_0 ! queue ! fakesink`,
      'launch:1:74: the output "video_0" of "d" is already linked (expected a `tee` after it, to send frames to several elements)',
    ],
    [
      "videotestsrc ! c.sink_1 videotestsrc ! c.sink_1 compositor name=c ! fakesink",
      'launch:1:40: the input "sink_1" of "c" is already linked (expected another pad, or none named)',
    ],
    [
      "videotestsrc ! x264enc ! m. videotestsrc ! x264enc ! m. flvmux name=m ! fakesink",
      'launch:1:54: "x264enc-2" outputs video/x-h264, but "m" accepts audio/mpeg (expected an element between them that converts one into the other)',
    ],
    [
      "videotestsrc ! x264enc ! m.audio_0 mp4mux name=m ! fakesink",
      'launch:1:26: "x264enc" outputs video/x-h264, but "m" accepts audio/mpeg (expected an element between them that converts one into the other)',
    ],
  ];
  for (const [line, says] of cases) test(line, () => assert.deepEqual(messagesOf(compileLine(line)), [says]));
});

describe("properties of pads", () => {
  const mixed = (properties: string) => `videotestsrc ! c.sink_1 compositor name=c ${properties} ! fakesink`;

  test("are checked and kept, in a graph file as in a line", () => {
    const line = compileLine(mixed("sink_1::xpos=0x20 sink_1::alpha=.5"));
    const yaml = compileText(
      "graph: g\nchains:\n  main: [videotestsrc, { to: c.sink_1 }]\n" +
        "  out: [{ compositor: { name: c, sink_1::xpos: 32, sink_1::alpha: 0.5 } }, fakesink]\n",
    );
    for (const { plan, faults } of [line, yaml]) {
      assert.deepEqual(messagesOf({ faults }), []);
      const node = plan?.main.nodes.find(({ name }) => name === "c");
      assert.deepEqual(node?.properties, { "sink_1::xpos": 32, "sink_1::alpha": 0.5 });
    }
  });

  const cases: readonly (readonly [string, string])[] = [
    [
      "sink_1::xpos=left",
      'launch:1:56: compositor.sink_1::xpos is "left" (expected a whole number from -2147483648 to 2147483647)',
    ],
    ["sink_1::alpha=2", "launch:1:57: compositor.sink_1::alpha is 2 (expected a number from 0 to 1)"],
    [
      "sink_1::xposs=2",
      'launch:1:43: pads sink_%u of compositor have no property "xposs" (expected xpos, alpha; did you mean "sink_1::xpos"?)',
    ],
    [
      "snk_1::xpos=2",
      'launch:1:43: compositor has no pad "snk_1" (expected sink_%u, src; did you mean "sink_1::xpos"?)',
    ],
    [
      "src::xpos=2",
      'launch:1:43: compositor has no property "src::xpos": its pads src have no properties that GStreamer lists (expected a property of sink_%u)',
    ],
    [
      "sink_2::xpos=2",
      "launch:1:56: compositor.sink_2::xpos is for a pad that is not linked (expected a link to c.sink_2, or a pad that is linked: sink_1)",
    ],
  ];
  for (const [properties, says] of cases)
    test(properties, () => assert.deepEqual(messagesOf(compileLine(mixed(properties))), [says]));

  test("of a pad whose chain `when:` leaves out are left out with it", () => {
    const text = `graph: g
params: { both: { type: boolean, default: true } }
chains:
  main: [videotestsrc, { to: c.sink_0 }]
  second: { when: both, chain: [{ videotestsrc: { pattern: ball } }, { to: c.sink_1 }] }
  out: [{ compositor: { name: c, sink_1::xpos: 32 } }, fakesink]
`;
    const propertiesFor = (both: boolean) => {
      const { plan, faults } = compileText(text, { params: { both } });
      assert.deepEqual(messagesOf({ faults }), []);
      return plan?.main.nodes.find(({ name }) => name === "c")?.properties;
    };
    assert.deepEqual([propertiesFor(true), propertiesFor(false)], [{ "sink_1::xpos": 32 }, {}]);
  });
});
