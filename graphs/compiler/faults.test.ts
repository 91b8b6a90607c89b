import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CompileInput } from "./compile.ts";
import { compileText, messagesOf } from "./compiler.fixture.ts";
import { type FaultCode, formatFaults, GraphFaults } from "./fault.ts";

/** A graph whose main chain has these steps, from line 4 on. */
const chain = (...steps: readonly string[]): string =>
  ["graph: g", "chains:", "  main:", ...steps.map((step) => `    - ${step}`), ""].join("\n");

interface Case {
  readonly what: string;
  readonly text: string;
  readonly input?: Partial<CompileInput>;
  readonly code: FaultCode;
  /** The whole message: place, what was found, what was expected, what is near. */
  readonly says: string;
}

const CASES: readonly Case[] = [
  {
    what: "an unknown element",
    text: chain("source", "decod", "print"),
    code: "unknown_element",
    says: 'a.yaml:5:7: unknown element "decod" (expected a TypeScript element or an installed GStreamer element; `windhover inspect` lists them; did you mean "decode"?)',
  },
  {
    what: "an unknown property of a GStreamer element",
    text: chain("source", "queue: { max-size-bufers: 8 }", "print"),
    code: "unknown_property",
    says: 'a.yaml:5:16: queue has no property "max-size-bufers" (expected a property that `windhover inspect queue` lists; did you mean "max-size-buffers"?)',
  },
  {
    what: "an unknown property of a TypeScript element",
    text: chain("source", "decode", "detect: { confidense: 0.5 }", "print"),
    code: "unknown_property",
    says: 'a.yaml:6:17: detect has no property "confidense" (expected model, confidence, classes; did you mean "confidence"?)',
  },
  {
    what: "a property in the spelling of definitions",
    text: chain("source", "decode", "detect", "track: { maxAgeMs: 5 }", "print"),
    code: "unknown_property",
    says: 'a.yaml:7:16: track has no property "maxAgeMs" (expected max-age-ms; did you mean "max-age-ms"?)',
  },
  {
    what: "a value of the wrong type",
    text: chain("source", 'queue: { max-size-buffers: "8" }', "print"),
    code: "bad_property",
    says: 'a.yaml:5:34: queue.max-size-buffers is "8" (expected a whole number from 0 to 4294967295)',
  },
  {
    what: "a value out of range",
    text: chain("source", "decode", "detect: { confidence: 1.5 }", "print"),
    code: "bad_property",
    says: "a.yaml:6:29: detect.confidence is 1.5 (expected a number from 0 to 1)",
  },
  {
    what: "a native value out of range",
    text: chain("source", "jpegenc: { quality: 101 }", "feed"),
    code: "bad_property",
    says: "a.yaml:5:27: jpegenc.quality is 101 (expected a whole number from 0 to 100)",
  },
  {
    what: "an unknown choice",
    text: chain("source", "queue: { leaky: downstraem }", "print"),
    code: "bad_property",
    says: 'a.yaml:5:23: queue.leaky is "downstraem" (expected no, upstream or downstream; did you mean "downstream"?)',
  },
  {
    what: "an unknown choice of a TypeScript element",
    text: chain("source", "encode: { codec: av1 }", "publish: { url: a }"),
    code: "bad_property",
    says: 'a.yaml:5:24: encode.codec is "av1" (expected "h264" or "h265")',
  },
  {
    what: "a wrong value deep inside a property",
    text: chain(
      "source",
      "decode",
      "detect: { classes: [{ name: car, above: 0.5 }, { name: 7, above: 0.5 }] }",
      "print",
    ),
    code: "bad_property",
    says: "a.yaml:6:62: detect.classes.1.name is 7 (expected text)",
  },
  {
    what: "a property that only GStreamer may write",
    text: chain("source", "queue: { current-level-buffers: 3 }", "print"),
    code: "bad_property",
    says: "a.yaml:5:39: queue.current-level-buffers is read-only (expected no value)",
  },
  {
    what: "a property that cannot be written as text",
    text: chain("source", "tee: { name: t, alloc-pad: x }", "print"),
    code: "bad_property",
    says: "a.yaml:5:34: tee.alloc-pad is a GstPad, which cannot be written as text (expected no value)",
  },
  {
    what: "caps that cannot be read",
    text: chain("source", "caps: video", "print"),
    code: "bad_property",
    says: 'a.yaml:5:13: capsfilter.caps is "video" (expected caps such as "video/x-raw,width=640")',
  },
  {
    what: "a bracket in caps that is not closed",
    text: chain("source", 'caps: "video/x-raw,width=[1"', "print"),
    code: "bad_property",
    says: 'a.yaml:5:13: capsfilter.caps is "video/x-raw,width=[1" (expected caps such as "video/x-raw,width=640")',
  },
  {
    what: "a text in caps where a number belongs",
    text: chain("videotestsrc", "caps: video/x-raw,width=320", "caps: video/x-raw,width=foo", "print"),
    code: "bad_property",
    says: 'a.yaml:6:13: capsfilter.caps is "video/x-raw,width=foo", with width=foo (expected a whole number: width=640)',
  },
  {
    what: "a number in caps where a fraction belongs",
    text: chain("source", 'caps: "video/x-raw,framerate=30"', "print"),
    code: "bad_property",
    says: 'a.yaml:5:13: capsfilter.caps is "video/x-raw,framerate=30", with framerate=30 (expected a fraction: framerate=30/1)',
  },
  {
    what: "a required property that is missing",
    text: chain("source", "encode", "publish"),
    code: "bad_property",
    says: 'a.yaml:6:7: publish lacks its required property "url" (expected `url`, text that is not empty)',
  },
  {
    what: "a fault that only the expansion finds",
    text: chain("source: { uri: 'bad:x' }", "print"),
    code: "bad_property",
    says: 'a.yaml:4:22: source.uri: "bad:x" is not a source',
  },
  {
    what: "a composite that needs an element that is not installed",
    text: chain("source", "encode: { codec: h265 }", "publish: { url: a }"),
    code: "unknown_element",
    says: 'a.yaml:5:7: encode needs the GStreamer element "x265enc", which is not installed (expected the GStreamer plugin that has it)',
  },
  {
    what: "track without detect",
    text: chain("source", "decode", "track", "print"),
    code: "missing_metadata",
    says: 'a.yaml:6:7: "track" reads "detections", which no element before it writes (expected `detect` before it)',
  },
  {
    what: "one of several reads, none written",
    text: chain("source", "decode", "geolocate", "print"),
    code: "missing_metadata",
    says: 'a.yaml:6:7: "geolocate" reads "tracks" or "detections", which no element before it writes (expected `detect` or `track` before it)',
  },
  {
    what: "a cycle",
    text: chain("source", "funnel: { name: f }", "queue", "to: f"),
    code: "cycle",
    says: "a.yaml:7:11: the links form a cycle: f → queue → f (expected chains that only lead forward)",
  },
  {
    what: "two nodes of one name",
    text: chain("source", "queue: { name: q }", "queue: { name: q }", "print"),
    code: "duplicate_name",
    says: 'a.yaml:6:22: two nodes are named "q"; the first is on line 5 (expected a name of its own for each node)',
  },
  {
    what: "a chain without input",
    text: chain("decode", "print"),
    code: "chain_from_nowhere",
    says: 'a.yaml:4:7: chain "main" begins with "decode", which needs an input (expected `source`, another source element, or `from: node` before it)',
  },
  {
    what: "a chain without output",
    text: chain("source", "videoconvert"),
    code: "not_linkable",
    says: 'a.yaml:5:7: chain "main" ends in "videoconvert", whose output is not linked (expected a sink such as `print` or `fakesink` after it, or `to: node`)',
  },
  {
    what: "a tee without branches",
    text: chain("source", "tee: { name: t }"),
    code: "not_linkable",
    says: 'a.yaml:5:7: chain "main" ends in the tee "t", which has no branches (expected a chain or slot that begins with `from: t`)',
  },
  {
    what: "from an unknown node",
    text: `${chain("source", "tee: { name: frames }")}  b: [{ from: frame }, print]\n`,
    code: "unknown_node",
    says: 'a.yaml:6:15: `from:` names "frame", but no node has that name (expected source, frames, print; did you mean "frames"?)',
  },
  {
    what: "incompatible media types",
    text: chain("source", "h264parse", "print"),
    code: "not_linkable",
    says: 'a.yaml:5:7: "source" outputs video/x-raw, but "h264parse" accepts video/x-h264 (expected `encode: { codec: h264 }` before it)',
  },
  {
    what: "incompatible pixel formats",
    text: chain("videotestsrc", 'caps: "video/x-raw,format=RGB"', "queue", "detect", "print"),
    code: "not_linkable",
    says: 'a.yaml:7:7: "queue" outputs video/x-raw,format=RGB, but "detect" accepts video/x-raw,format={I420,NV12} (expected `videoconvert` before it)',
  },
  {
    what: "a size that no element on the way can produce",
    text: chain(
      "videotestsrc",
      'caps: "video/x-raw,width=640,height=360"',
      "decode",
      'caps: "video/x-raw,width=321"',
      "print",
    ),
    code: "not_linkable",
    says: 'a.yaml:7:7: "decode" outputs video/x-raw,width=640, but "capsfilter-2" accepts video/x-raw,width=321 (expected `resize` or `videoscale` before it)',
  },
  {
    what: "raw video expected from a file",
    text: chain("source", "resize: { to: 360p }", "print"),
    input: { source: { uri: "clip.mp4" } },
    code: "not_linkable",
    says: 'a.yaml:5:7: "source" outputs encoded video, but "resize" accepts video/x-raw (expected `decode` before it)',
  },
  {
    what: "raw video expected from an unbound source, through a queue",
    text: chain("source", "stage", "resize: { to: 360p }", "print"),
    input: { source: null, mode: "check" },
    code: "not_linkable",
    says: 'a.yaml:6:7: "stage" outputs encoded video, but "resize" accepts video/x-raw (expected `decode` before it)',
  },
  {
    what: "raw video expected in a slot of encoded video",
    text: `${chain("source", "tee: { name: t }")}slots: { s: { chain: [{ from: t }, detect, print] } }\n`,
    input: { source: { uri: "rtsp://camera/1" } },
    code: "not_linkable",
    says: 'a.yaml:6:36: "t" outputs encoded video, but "detect" accepts video/x-raw (expected `decode` before it)',
  },
  {
    what: "something after a sink",
    text: chain("source", "print", "queue", "fakesink"),
    code: "not_linkable",
    says: 'a.yaml:6:7: "print" is a sink: nothing can come after it (expected it as the last step of its chain)',
  },
  {
    what: "something before a source",
    text: chain("source", "videotestsrc", "print"),
    code: "not_linkable",
    says: 'a.yaml:5:7: "videotestsrc" takes no input: nothing can come before it (expected it as the first step of its chain)',
  },
  {
    what: "an output used twice",
    text: `${chain("source", "queue: { name: q }", "print")}  b: [{ from: q }, fakesink]\n`,
    code: "not_linkable",
    says: 'a.yaml:7:20: the output of "q" is already linked (expected a `tee` after it, to send frames to several elements)',
  },
  {
    what: "an input used twice",
    text: `${chain("source", "queue: { name: q }", "print")}  b: [videotestsrc, { to: q }]\n`,
    code: "not_linkable",
    says: 'a.yaml:7:27: the input of "q" is already linked (expected an element that takes several inputs, such as `funnel`)',
  },
  {
    what: "metadata that a mixer drops",
    text: chain("source", "decode", "detect", "compositor: { name: mix }", "track", "print"),
    code: "missing_metadata",
    says: 'a.yaml:8:7: "track" reads "detections", which "mix" drops: compositor creates new frames without metadata (expected "track" before "mix", or on a branch of a `tee` before it)',
  },
  {
    what: "an element that needs application code",
    text: chain("source", "appsink"),
    code: "unusable_element",
    says: "a.yaml:5:7: appsink hands frames to application code, which a graph does not have (expected `fakesink`, `print`, `detections` or an element of your own in its place)",
  },
  {
    what: "an element without pads",
    text: chain("playbin"),
    code: "unusable_element",
    says: "a.yaml:4:7: playbin has no pads and cannot be linked (expected `source: { uri: … }` or `uridecodebin`, and a sink of your choice)",
  },
  {
    what: "a file without its name",
    text: chain("source", "filesink"),
    code: "bad_property",
    says: 'a.yaml:5:7: filesink lacks its required property "location" (expected `location`, text that is not empty)',
  },
  {
    what: "a slot on a pad of its own choice",
    text: `${chain("source", "tee: { name: t }", "print")}slots:\n  s: { chain: [{ from: t.src_1 }, fakesink] }\n`,
    code: "not_linkable",
    says: 'a.yaml:8:24: slot "s" names the pad "src_1" of its tee (expected `from: t`: each attachment gets a pad of its own)',
  },
  {
    what: "an unknown pad",
    text: `${chain("source", "tee: { name: t }", "print")}  b: [{ from: t.out_0 }, fakesink]\n`,
    code: "not_linkable",
    says: 'a.yaml:7:15: "t" has no output pad "out_0" (expected src_%u)',
  },
  {
    what: "a missing parameter",
    text: `params: { path: { type: string } }\n${chain("source", "encode", "publish: { url: $path }")}`,
    code: "missing_param",
    says: 'a.yaml:1:11: parameter "path" is not given and has no default (expected path=VALUE, text)',
  },
  {
    what: "a wrong parameter",
    text: `params: { n: { type: integer, maximum: 9 } }\n${chain("source", "queue: { max-size-buffers: $n }", "print")}`,
    input: { params: { n: 10 } },
    code: "bad_param",
    says: 'a.yaml:1:11: parameter "n" is 10 (expected a whole number of at most 9)',
  },
  {
    what: "a given parameter that is not declared",
    text: `params: { count: { default: 1 } }\n${chain("source", "print")}`,
    input: { params: { coutn: 10 } },
    code: "unknown_param",
    says: 'a.yaml:1:1: graph "g" has no parameter "coutn" (expected count; did you mean "count"?)',
  },
  {
    what: "a used parameter that is not declared",
    text: `params: { count: { default: 1 } }\n${chain("source", "queue: { max-size-buffers: $cont }", "print")}`,
    code: "unknown_param",
    says: 'a.yaml:6:34: no parameter "cont" is declared (expected count; did you mean "count"?)',
  },
  {
    what: "a default that does not fit",
    text: `params: { n: { type: integer, default: x } }\n${chain("source", "print")}`,
    code: "bad_param",
    says: 'a.yaml:1:40: the default of parameter "n" is "x" (expected a whole number)',
  },
  {
    what: "a keyword that JSON Schema does not have",
    text: `params: { n: { type: integer, minimun: 1, default: 1 } }\n${chain("source", "print")}`,
    code: "bad_param",
    says: 'a.yaml:1:31: parameter "n" has the unknown keyword "minimun" (expected a keyword of JSON Schema, or `live`; did you mean "minimum"?)',
  },
  {
    what: "a type that JSON Schema does not have",
    text: `params: { n: { type: strin, default: a } }\n${chain("source", "print")}`,
    code: "bad_param",
    says: 'a.yaml:1:22: `type` of parameter "n" is "strin" (expected string, number, integer, boolean, array, object or null; did you mean "string"?)',
  },
  {
    what: "a bound that is not a number, deep inside a schema",
    text: `params: { n: { items: { minimum: x }, default: [] } }\n${chain("source", "print")}`,
    code: "bad_param",
    says: 'a.yaml:1:34: `items.minimum` of parameter "n" is "x" (expected a number)',
  },
  {
    what: "a pattern that is not a regular expression",
    text: `params: { n: { pattern: "(", default: a } }\n${chain("source", "print")}`,
    code: "bad_param",
    says: 'a.yaml:1:11: the schema of parameter "n" is wrong: Invalid regular expression: /(/u: Unterminated group',
  },
  {
    what: "a schema that refers to itself",
    text: `params: { n: { $ref: "#", default: a } }\n${chain("source", "print")}`,
    code: "bad_param",
    says: 'a.yaml:1:11: the schema of parameter "n" is a reference to itself without end (expected a schema that ends)',
  },
  {
    what: "a value with a pattern, described in words",
    text: `params: { n: { pattern: "^[a-z]$", type: string, description: A small letter. } }\n${chain("source", "print")}`,
    input: { params: { n: "7" } },
    code: "bad_param",
    says: 'a.yaml:1:11: parameter "n" is "7" (expected a small letter)',
  },
  {
    what: "a dollar sign inside a text",
    text: `params: { n: { default: 1 } }\n${chain("source", "filesink: { location: a/$n }")}`,
    code: "bad_param",
    says: `a.yaml:6:29: "a/$n" has a "$" before a letter inside a longer text (expected "\${name}" for a parameter, "$$" for a dollar sign)`,
  },
  {
    what: "no source to start on",
    text: chain("source", "print"),
    input: { source: null },
    code: "missing_source",
    says: "a.yaml:4:7: the graph has no source (expected a file, an rtsp, rtmp, srt or udp URL or test:PATTERN to start it on, or `source: { uri: … }`)",
  },
  {
    what: "an unknown graph to extend",
    text: "graph: g\nextends: base\n",
    code: "unknown_graph",
    says: 'a.yaml:2:10: unknown graph "base" (expected the name of a template, or the path of a graph file)',
  },
  {
    what: "graphs that extend each other",
    text: "graph: g\nextends: h\n",
    input: { load: (name) => ({ file: name === "g" ? "a.yaml" : "h.yaml", text: "graph: h\nextends: g\n" }) },
    code: "extends_cycle",
    says: "h.yaml:2:10: the graphs extend each other in a cycle: g → h → g",
  },
  {
    what: "a YAML syntax error",
    text: "graph: g\nchains: [\n",
    code: "yaml_syntax",
    says: "a.yaml:3:1: YAML: Flow sequence in block collection must be sufficiently indented and end with a ] (expected a `]` or `}` for every `[` or `{`)",
  },
  {
    what: "a step that is indented further than the one before",
    text: chain("source", " decode", "print").replace("-  decode", " - decode"),
    code: "document_shape",
    says: 'a.yaml:4:7: "source" and "decode" below it are read as one step (expected the steps of a chain exactly below each other: each `-` in the same column)',
  },
  {
    what: "a step that is indented less",
    text: chain("source", "decode").replace(" - decode", "- decode"),
    code: "yaml_syntax",
    says: "a.yaml:5:1: YAML: A block sequence may not be used as an implicit map key (expected the steps of a chain exactly below each other: each `-` in the same column)",
  },
  {
    what: "two keys on a line",
    text: chain("source: uri: x"),
    code: "yaml_syntax",
    says: "a.yaml:4:15: YAML: Nested mappings are not allowed in compact mappings (expected one `key: value` a line, properties in braces (`queue: { leaky: no }`), and quotes around a text with `: ` in it)",
  },
  {
    what: "a key that is indented further than the one before",
    text: "graph: g\n chains: {}\n",
    code: "yaml_syntax",
    says: "a.yaml:1:8: YAML: Nested mappings are not allowed in compact mappings (expected keys of one map exactly below each other, and what belongs to a key indented further than it)",
  },
  {
    what: "a key without its colon",
    text: "graph: g\nchains\n  main: [source]\n",
    code: "yaml_syntax",
    says: "a.yaml:2:1: YAML: Implicit keys need to be on a single line (expected `key: value` on one line; is a `:` missing here?)",
  },
  {
    what: "a quote that is not closed",
    text: 'graph: g\nabout: "hello\nchains: {}\n',
    code: "yaml_syntax",
    says: 'a.yaml:4:1: YAML: Missing closing "quote (expected a closing quote for every opening one, of the same kind)',
  },
  {
    what: "a tab at the start of a line",
    text: "graph: g\nchains:\n\tmain: [source]\n",
    code: "yaml_syntax",
    says: "a.yaml:3:1: YAML: Tabs are not allowed as indentation (expected spaces, not tabs, at the start of a line)",
  },
  {
    what: "an alias without an anchor",
    text: chain("source", "queue: { max-size-buffers: *q }", "print"),
    code: "yaml_syntax",
    says: "a.yaml:5:34: no anchor &q comes before this alias (expected an anchor further up, or quotes around a text that begins with *)",
  },
  {
    what: "an interpolation between braces without quotes",
    text: chain("source", `filesink: { location: \${x}.mp4 }`),
    code: "yaml_syntax",
    says: `a.yaml:5:30: YAML: Unexpected flow-map-start at node end (expected quotes around a text with \${…} between braces: { path: "\${name}.mp4" })`,
  },
  {
    what: "a duplicate key",
    text: `graph: g\n${chain("source", "print")}`,
    code: "document_shape",
    says: 'a.yaml:2:1: duplicate key "graph"; the first is on line 1 (expected each key once)',
  },
  {
    what: "a list",
    text: "- source\n- print\n",
    code: "document_shape",
    says: 'a.yaml:1:1: the document is the list ["source","print"] (expected a map that begins with `graph: NAME`)',
  },
  {
    what: "a number",
    text: "7\n",
    code: "document_shape",
    says: "a.yaml:1:1: the document is 7 (expected a map that begins with `graph: NAME`)",
  },
  {
    what: "nothing",
    text: "",
    code: "document_shape",
    says: "a.yaml:1:1: the document is empty (expected a map that begins with `graph: NAME`)",
  },
  {
    what: "only a comment",
    text: "# soon\n",
    code: "document_shape",
    says: "a.yaml:1:1: the document is empty (expected a map that begins with `graph: NAME`)",
  },
  {
    what: "binary junk",
    text: "graph: g\n\u0000\u0001\u0002",
    code: "yaml_syntax",
    says: "a.yaml:2:1: the file is not text: it holds the character U+0000 (expected a graph in YAML, saved as UTF-8)",
  },
  {
    what: "several documents",
    text: `${chain("source", "print")}---\n${chain("source", "print")}`,
    code: "document_shape",
    says: "a.yaml:6:1: a second document begins here (expected one graph a file, without `---` between parts)",
  },
  {
    what: "an unknown key",
    text: `chain: {}\n${chain("source", "print")}`,
    code: "document_shape",
    says: 'a.yaml:1:1: a graph has no key "chain" (expected graph, about, extends, params, parts, chains, slots, set, insert, remove, tests; did you mean "chains"?)',
  },
  {
    what: "properties beside their element",
    text: chain("source", "queue:\n      when: x", "print"),
    code: "document_shape",
    says: 'a.yaml:6:7: "when" is beside "queue", not below it (expected one element a step, its properties indented below it: `queue: { when: … }`)',
  },
  {
    what: "a 10 MB file",
    text: `graph: g\n${"#".repeat(10_000_000)}`,
    code: "file_too_large",
    says: "a.yaml:1:1: the text has 10.0 MB, which is too large for a graph (expected at most 1 MB)",
  },
  {
    what: "an edit without a graph to edit",
    text: `remove: [a]\n${chain("source", "print")}`,
    code: "document_shape",
    says: "a.yaml:1:1: `remove` without `extends` (expected `extends: GRAPH` beside it)",
  },
];

describe("each fault is located and says what was expected", () => {
  for (const { what, text, input, code, says } of CASES) {
    test(what, () => {
      const compiled = compileText(text, input);
      assert.equal(compiled.plan, null);
      assert.deepEqual(messagesOf(compiled), [says]);
      assert.deepEqual(
        compiled.faults.map((fault) => fault.code),
        [code],
      );
    });
  }
});

test("all faults come at once, in text order, without echoes", () => {
  const text = chain(
    "source",
    "decod",
    "track: { max-age-ms: old }",
    "jpegenc: { quality: 101, qality: 1 }",
    "from: x",
    "print",
  );
  assert.deepEqual(
    compileText(text).faults.map(({ code, at }) => [code, at.line, at.column]),
    [
      ["unknown_element", 5, 7],
      ["bad_property", 6, 28],
      ["bad_property", 7, 27],
      ["unknown_property", 7, 32],
      ["document_shape", 8, 13],
    ],
  );
});

test("an unknown element does not make its neighbours unlinkable or their metadata missing", () => {
  const { faults } = compileText(chain("source", "decode", "detct", "track", "pritn"));
  assert.deepEqual(
    faults.map((fault) => [fault.code, fault.suggestion]),
    [
      ["unknown_element", "detect"],
      ["unknown_element", "print"],
    ],
  );
});

test("a shape fault elsewhere does not hide a loose end; one inside the chains does not invent any", () => {
  assert.deepEqual(
    compileText(`abuot: x\n${chain("source", "queue")}`).faults.map((fault) => fault.code),
    ["document_shape", "not_linkable"],
  );
  const twice =
    "graph: g\nchains:\n  main: [source, { tee: { name: t } }]\n  a: [{ from: t }, { tee: { name: u } }]\n  b: [{ from: u }, print]\n  b: [{ from: u }, print]\n";
  assert.deepEqual(
    compileText(twice).faults.map((fault) => [fault.code, fault.at.line]),
    [["document_shape", 6]],
  );
});

test("a test pattern gives raw pictures, and what is encoded may wait in a queue or go into a parser", () => {
  const steps = ["stage", "resize: { to: 360p }", "print"];
  assert.deepEqual(messagesOf(compileText(chain("source", ...steps))), []);
  const own = compileText(chain("source: { uri: 'test:ball' }", ...steps), { source: null, mode: "check" });
  assert.deepEqual(messagesOf(own), []);
  for (const source of [{ uri: "clip.mp4" }, null])
    assert.deepEqual(
      messagesOf(compileText(chain("source", "stage", "h264parse", "print"), { source, mode: "check" })),
      [],
    );
});

test("a size is only known where nothing on the way changes it", () => {
  const sized = (uri: string | null, ...between: readonly string[]) =>
    messagesOf(
      compileText(chain("source", ...between, 'caps: "video/x-raw,width=321"', "print"), {
        source: uri === null ? null : { uri },
        mode: "check",
      }),
    );
  assert.deepEqual(sized(null, "decode"), []);
  assert.deepEqual(sized("clip.mp4", "decode"), []);
  assert.deepEqual(sized("test:ball", 'caps: "video/x-raw,width=640"', "videoscale"), []);
  assert.equal(sized("test:ball", 'caps: "video/x-raw,width=640"', "videoconvert").length, 1);
});

test("however many faults there are, only some are printed, and the rest are counted", () => {
  const steps = Array.from({ length: 50 }, (_, index) => `nothing-${index}`);
  const { faults } = compileText(chain("source", ...steps, "print"));
  assert.equal(faults.length, 50);
  const lines = formatFaults(faults).split("\n");
  assert.deepEqual([lines.length, lines.at(-1)], [21, "and 30 more"]);
  assert.equal(new GraphFaults(faults).message, lines.join("\n"));
  assert.equal(formatFaults(faults.slice(0, 20)).split("\n").length, 20);
  assert.equal(formatFaults(faults, 1), `${lines[0]}\nand 49 more`);
});

test("a byte order mark and Windows line ends are no fault", () => {
  assert.deepEqual(compileText(`\ufeff${chain("source", "queue", "print")}`.replaceAll("\n", "\r\n")).faults, []);
});

test("what the caller gave is not frozen with the plan", () => {
  const params = { classes: [{ name: "car", above: 0.5 }] };
  const text = `params: { classes: {} }\n${chain("source", "decode", "detect: { classes: $classes }", "print")}`;
  assert.notEqual(compileText(text, { params }).plan, null);
  assert.ok(!Object.isFrozen(params.classes));
});
