import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CompileInput } from "./compile.ts";
import { compileText, messagesOf } from "./compiler.fixture.ts";
import type { FaultCode } from "./fault.ts";

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
    says: 'a.yaml:5:7: there is no element "decod" (expected a TypeScript element or a GStreamer element that is installed; `windhover inspect` lists them; did you mean "decode"?)',
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
    text: chain("source", "encode: { codec: av1 }", "publish: { path: a }"),
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
    says: "a.yaml:5:39: queue.current-level-buffers is read-only (expected it to be left alone)",
  },
  {
    what: "a property that cannot be written as text",
    text: chain("source", "tee: { name: t, alloc-pad: x }", "print"),
    code: "bad_property",
    says: "a.yaml:5:34: tee.alloc-pad is a GstPad, which cannot be written as text (expected it to be left alone)",
  },
  {
    what: "caps that cannot be read",
    text: chain("source", "caps: video", "print"),
    code: "bad_property",
    says: 'a.yaml:5:13: capsfilter.caps is "video" (expected caps such as "video/x-raw,width=640")',
  },
  {
    what: "a required property that is missing",
    text: chain("source", "encode", "publish"),
    code: "bad_property",
    says: 'a.yaml:6:7: publish is without its property "path" (expected `path`, text with a length of at least 1)',
  },
  {
    what: "what only expanding finds",
    text: chain("source: { uri: 'bad:x' }", "print"),
    code: "bad_property",
    says: 'a.yaml:4:22: source.uri: "bad:x" is no source',
  },
  {
    what: "a composite that needs what is not installed",
    text: chain("source", "encode: { codec: h265 }", "publish: { path: a }"),
    code: "unknown_element",
    says: 'a.yaml:5:7: encode needs the GStreamer element "x265enc", which is not installed (expected the GStreamer plugin that has it)',
  },
  {
    what: "track without detect",
    text: chain("source", "decode", "track", "print"),
    code: "missing_metadata",
    says: 'a.yaml:6:7: "track" reads "detections", which nothing before it writes (expected `detect` before it)',
  },
  {
    what: "one of several reads, none written",
    text: chain("source", "decode", "geolocate", "print"),
    code: "missing_metadata",
    says: 'a.yaml:6:7: "geolocate" reads "tracks" or "detections", which nothing before it writes (expected `detect` or `track` before it)',
  },
  {
    what: "a cycle",
    text: chain("source", "funnel: { name: f }", "queue", "to: f"),
    code: "cycle",
    says: "a.yaml:7:11: frames would go round in a circle: f → queue → f (expected chains that only lead forward)",
  },
  {
    what: "two nodes of one name",
    text: chain("source", "queue: { name: q }", "queue: { name: q }", "print"),
    code: "duplicate_name",
    says: 'a.yaml:6:22: two nodes are named "q"; the first is on line 5 (expected a name of its own for each node)',
  },
  {
    what: "a chain from nowhere",
    text: chain("decode", "print"),
    code: "chain_from_nowhere",
    says: 'a.yaml:4:7: chain "main" begins with "decode", which needs an input (expected `source`, another element that makes frames, or `from: node` before it)',
  },
  {
    what: "a chain that ends in the air",
    text: chain("source", "videoconvert"),
    code: "not_linkable",
    says: 'a.yaml:5:7: chain "main" ends in "videoconvert", which has an output that goes nowhere (expected a sink such as `print` or `fakesink` after it, or `to: node`)',
  },
  {
    what: "a tee on which nothing hangs",
    text: chain("source", "tee: { name: t }"),
    code: "not_linkable",
    says: 'a.yaml:5:7: chain "main" ends in the tee "t", on which nothing hangs (expected a chain or slot that begins with `from: t`)',
  },
  {
    what: "from a node that is not there",
    text: `${chain("source", "tee: { name: frames }")}  b: [{ from: frame }, print]\n`,
    code: "unknown_node",
    says: 'a.yaml:6:15: `from:` names "frame", but no node has that name (expected source, frames, print; did you mean "frames"?)',
  },
  {
    what: "media types that do not meet",
    text: chain("source", "h264parse", "print"),
    code: "not_linkable",
    says: 'a.yaml:5:7: "source" gives video/x-raw (format I420/NV12/RGB), but "h264parse" takes video/x-h264 (expected an element between them that turns one into the other)',
  },
  {
    what: "pixel formats that do not meet",
    text: chain("videotestsrc", 'caps: "video/x-raw,format=RGB"', "queue", "detect", "print"),
    code: "not_linkable",
    says: 'a.yaml:7:7: "queue" gives video/x-raw (format RGB), but "detect" takes video/x-raw (format I420/NV12) (expected an element between them that turns one into the other)',
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
    says: 'a.yaml:7:20: the output of "q" already goes elsewhere (expected a `tee` after it, to send frames two ways)',
  },
  {
    what: "an input used twice",
    text: `${chain("source", "queue: { name: q }", "print")}  b: [videotestsrc, { to: q }]\n`,
    code: "not_linkable",
    says: 'a.yaml:7:27: the input of "q" is already taken (expected an element that takes several inputs, such as `funnel`)',
  },
  {
    what: "a pad that is not there",
    text: `${chain("source", "tee: { name: t }", "print")}  b: [{ from: t.out_0 }, fakesink]\n`,
    code: "not_linkable",
    says: 'a.yaml:7:26: "t" has no output pad "out_0" (expected src_%u)',
  },
  {
    what: "a missing parameter",
    text: `params: { path: { type: string } }\n${chain("source", "encode", "publish: { path: $path }")}`,
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
    what: "a parameter nobody declared, given",
    text: `params: { count: { default: 1 } }\n${chain("source", "print")}`,
    input: { params: { coutn: 10 } },
    code: "unknown_param",
    says: 'a.yaml:1:1: graph "g" has no parameter "coutn" (expected count; did you mean "count"?)',
  },
  {
    what: "a parameter nobody declared, used",
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
    says: "a.yaml:4:7: the graph is started on no source (expected a file, an rtsp or rtmp URL or test:PATTERN to start it on, or `source: { uri: … }`)",
  },
  {
    what: "a graph to extend that is not there",
    text: "graph: g\nextends: base\n",
    code: "unknown_graph",
    says: 'a.yaml:2:10: there is no graph "base" to extend (expected the name of a template, or the path of a graph file)',
  },
  {
    what: "graphs that extend each other",
    text: "graph: g\nextends: h\n",
    input: { load: (name) => ({ file: name === "g" ? "a.yaml" : "h.yaml", text: "graph: h\nextends: g\n" }) },
    code: "extends_cycle",
    says: "h.yaml:2:10: the graphs extend each other in a circle: g → h → g",
  },
  {
    what: "a YAML syntax error",
    text: "graph: g\nchains: [\n",
    code: "yaml_syntax",
    says: "a.yaml:3:1: YAML: Flow sequence in block collection must be sufficiently indented and end with a ]",
  },
  {
    what: "an interpolation between braces without quotes",
    text: chain("source", `filesink: { location: \${x}.mp4 }`),
    code: "yaml_syntax",
    says: `a.yaml:5:30: YAML: Unexpected flow-map-start at node end (expected quotes around a text with \${…} between braces: { path: "\${name}.mp4" })`,
  },
  {
    what: "a key that is there twice",
    text: `graph: g\n${chain("source", "print")}`,
    code: "document_shape",
    says: 'a.yaml:2:1: the key "graph" is there twice; the first is on line 1 (expected each key once)',
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
    says: 'a.yaml:1:1: a graph has no key "chain" (expected graph, about, extends, params, chains, slots, set, insert, remove; did you mean "chains"?)',
  },
  {
    what: "properties beside their element",
    text: chain("source", "queue:\n      when: x", "print"),
    code: "document_shape",
    says: 'a.yaml:6:7: "when" stands beside "queue", not below it (expected one element a step, its properties indented below it: `queue: { when: … }`)',
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
    says: "a.yaml:1:1: `remove` changes another graph, but none is named (expected `extends: GRAPH` beside it)",
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

test("a byte order mark and Windows line ends are no fault", () => {
  assert.deepEqual(compileText(`\ufeff${chain("source", "queue", "print")}`.replaceAll("\n", "\r\n")).faults, []);
});

test("what the caller gave is not frozen with the plan", () => {
  const params = { classes: [{ name: "car", above: 0.5 }] };
  const text = `params: { classes: {} }\n${chain("source", "decode", "detect: { classes: $classes }", "print")}`;
  assert.notEqual(compileText(text, { params }).plan, null);
  assert.ok(!Object.isFrozen(params.classes));
});
