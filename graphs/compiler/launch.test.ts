import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { compileLine, messagesOf } from "./compiler.fixture.ts";

describe("a launch line", () => {
  const shape = (line: string) => {
    const compiled = compileLine(line);
    assert.deepEqual(messagesOf(compiled), []);
    const segments = [compiled.plan?.main, ...(compiled.plan?.branches ?? [])];
    return segments.flatMap(
      (segment) => segment?.nodes.map((node) => [node.factory, node.name, node.properties]) ?? [],
    );
  };

  const cases: readonly (readonly [string, string, unknown])[] = [
    [
      "reads properties as the types they have",
      "videotestsrc num-buffers=0x10 is-live=yes pattern=3 ! fakesink",
      [
        ["videotestsrc", "videotestsrc", { "num-buffers": 16, "is-live": true, pattern: "ball" }],
        ["fakesink", "fakesink", {}],
      ],
    ],
    [
      "takes caps between elements, with spaces after commas",
      "videotestsrc ! video/x-raw, width=640, height=(int)480 ! fakesink",
      [
        ["videotestsrc", "videotestsrc", {}],
        ["capsfilter", "capsfilter", { caps: "video/x-raw,width=640,height=(int)480" }],
        ["fakesink", "fakesink", {}],
      ],
    ],
    [
      "takes quoted caps",
      `videotestsrc ! "video/x-raw, width=640" ! fakesink`,
      [
        ["videotestsrc", "videotestsrc", {}],
        ["capsfilter", "capsfilter", { caps: "video/x-raw, width=640" }],
        ["fakesink", "fakesink", {}],
      ],
    ],
    [
      "takes both quotes and backslashes",
      `filesrc location="a \\"b\\".mp4" ! filesink location='c d'\\ e`,
      [
        ["filesrc", "filesrc", { location: 'a "b".mp4' }],
        ["filesink", "filesink", { location: "c d e" }],
      ],
    ],
    [
      "needs no spaces around the mark",
      "videotestsrc!queue!fakesink",
      [
        ["videotestsrc", "videotestsrc", {}],
        ["queue", "queue", {}],
        ["fakesink", "fakesink", {}],
      ],
    ],
    [
      "keeps a mark and an equals sign in a value",
      "filesrc location=a=b!c ! fakesink",
      [
        ["filesrc", "filesrc", { location: "a=b!c" }],
        ["fakesink", "fakesink", {}],
      ],
    ],
    [
      "continues from a tee by its name",
      "videotestsrc ! tee name=t t. ! queue ! fakesink t. ! print",
      [
        ["videotestsrc", "videotestsrc", {}],
        ["tee", "t", { "allow-not-linked": true }],
        ["queue", "queue", {}],
        ["fakesink", "fakesink", {}],
        ["print", "print", {}],
      ],
    ],
    [
      "gives properties to TypeScript elements by their schema",
      'videotestsrc ! detect confidence=1 model=7 classes=\'[{"name":"car","above":0}]\' ! print',
      [
        ["videotestsrc", "videotestsrc", {}],
        ["detect", "detect", { confidence: 1, model: "7", classes: [{ name: "car", above: 0 }] }],
        ["print", "print", {}],
      ],
    ],
    [
      "takes spaces around an equals sign",
      "videotestsrc num-buffers = 5 pattern= ball is-live =no ! fakesink",
      [
        ["videotestsrc", "videotestsrc", { "num-buffers": 5, pattern: "ball", "is-live": false }],
        ["fakesink", "fakesink", {}],
      ],
    ],
    [
      "takes flags by nick and by number, and enums by number",
      "videotestsrc pattern=0 ! x264enc tune=zerolatency+fastdecode ! fakesink videotestsrc ! x264enc tune=0x4 ! fakesink",
      [
        ["videotestsrc", "videotestsrc", { pattern: "smpte" }],
        ["x264enc", "x264enc", { tune: "zerolatency+fastdecode" }],
        ["fakesink", "fakesink", {}],
        ["videotestsrc", "videotestsrc-2", {}],
        ["x264enc", "x264enc-2", { tune: 4 }],
        ["fakesink", "fakesink-2", {}],
      ],
    ],
    [
      "takes caps with memory features",
      "videotestsrc ! video/x-raw(memory:SystemMemory), width=64 ! fakesink",
      [
        ["videotestsrc", "videotestsrc", {}],
        ["capsfilter", "capsfilter", { caps: "video/x-raw(memory:SystemMemory),width=64" }],
        ["fakesink", "fakesink", {}],
      ],
    ],
    [
      "does not read dollar signs",
      "filesrc location=$HOME/a$$ ! fakesink",
      [
        ["filesrc", "filesrc", { location: "$HOME/a$$" }],
        ["fakesink", "fakesink", {}],
      ],
    ],
  ];
  for (const [what, line, nodes] of cases) test(what, () => assert.deepEqual(shape(line), nodes));
});

describe("a fault in a launch line has its column", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["", "launch:1:1: the line is empty (expected `element ! element ! …`)"],
    ["! fakesink", "launch:1:1: no element before `!` (expected `element ! element`)"],
    ["videotestsrc ! ! fakesink", "launch:1:16: no element before `!` (expected `element ! element`)"],
    ["videotestsrc !", "launch:1:14: no element after `!` (expected `element ! element`)"],
    [
      "pattern=ball videotestsrc",
      "launch:1:1: `pattern=ball` has no element before it (expected an element before its properties)",
    ],
    [`filesrc location="a b ! fakesink`, 'launch:1:18: the quote " is not closed (expected another ")'],
    [
      "videotestsrc ! t. ! fakesink",
      "launch:1:16: `t.` is between two elements (expected `name. ! element` or `element ! name.`)",
    ],
    [
      "videotestsrc pattern=ball pattern=snow ! fakesink",
      'launch:1:27: duplicate property "pattern" (expected each property once)',
    ],
    [
      "videotestsrc ! fakesnk",
      'launch:1:16: unknown element "fakesnk" (expected a TypeScript element or an installed GStreamer element; `windhover inspect` lists them; did you mean "fakesink"?)',
    ],
    [
      "videotestsrc num-buffers=many ! fakesink",
      'launch:1:26: videotestsrc.num-buffers is "many" (expected a whole number from -1 to 2147483647)',
    ],
    [
      "videotestsrc ! (fakesink)",
      "launch:1:16: `(fakesink)` is a bin, which is not supported (expected the elements without brackets: `a ! b ! c`)",
    ],
    [
      "bin.( videotestsrc ! fakesink )",
      "launch:1:1: `bin.(` is a bin, which is not supported (expected the elements without brackets: `a ! b ! c`)",
    ],
    [
      "gst-launch-1.0 -v videotestsrc ! fakesink",
      "launch:1:1: `gst-launch-1.0` is a program, not an element (expected the line behind it, without its options: `element property=value ! element`)",
    ],
    [
      "videotestsrc ! fakesink # done",
      "launch:1:25: `#` is a comment, which is not supported (expected elements, properties and caps only)",
    ],
    [
      "filesrc location=a.mp4 ! qtdemux .video_0 ! fakesink",
      "launch:1:34: `.video_0` names a pad without its element (expected `name=x` at the element, and `x.pad ! …` or `… ! x.pad`)",
    ],
    [
      "videotestsrc ! video/x-raw(memory:DMABuf) ! fakesink",
      'launch:1:16: "videotestsrc" outputs video/x-raw, but "capsfilter" accepts video/x-raw(memory:DMABuf) (expected an element between them that converts one into the other)',
    ],
    [
      "videotestsrc name=a.b ! fakesink",
      'launch:1:19: a node cannot be named "a.b" (expected a letter, then letters, digits, - or _)',
    ],
    [
      "videotestsrc \\\n ! fakesnk",
      'launch:2:4: unknown element "fakesnk" (expected a TypeScript element or an installed GStreamer element; `windhover inspect` lists them; did you mean "fakesink"?)',
    ],
  ];
  for (const [line, says] of cases)
    test(JSON.stringify(line), () => assert.deepEqual(messagesOf(compileLine(line)), [says]));
});
