import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import { stringify } from "yaml";
import { compileLine, compileText, DETECT, messagesOf } from "./compiler.fixture.ts";

test("the example of the architecture compiles to this plan", () => {
  const compiled = compileText(DETECT, { source: { uri: "test:ball" } });
  const slot = compiled.slot("rtsp", "lobby", { path: "cam/1", resolution: "720p" });
  assert.deepEqual([messagesOf(compiled), messagesOf(slot)], [[], []]);
  const text = stringify(
    { plan: compiled.plan, slot: slot.segment },
    { sortMapEntries: true, aliasDuplicateObjects: false },
  );
  const golden = new URL("detect.golden.yaml", import.meta.url);
  if (process.env.UPDATE_GOLDEN === "1") writeFileSync(golden, text);
  assert.equal(text, readFileSync(golden, "utf8"));
});

test("a plan is frozen all the way down", () => {
  const frozen = (value: unknown): boolean =>
    typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen));
  const compiled = compileText(DETECT);
  assert.ok(compiled.plan !== null && frozen(compiled.plan));
  assert.ok(frozen(compiled.slot("feed", "1", {}).segment));
});

describe("segments", () => {
  const segmentsOf = (line: string) => {
    const compiled = compileLine(line);
    assert.deepEqual(messagesOf(compiled), []);
    const { main, branches } = compiled.plan ?? assert.fail();
    return [main, ...branches].map((segment) => [
      segment.name,
      segment.tee,
      segment.nodes.map((node) => node.name).join(" "),
    ]);
  };

  test("a chain that starts at a tee and does not lead back is a branch", () => {
    assert.deepEqual(segmentsOf("videotestsrc ! tee name=t ! fakesink t. ! queue ! print"), [
      ["main", null, "videotestsrc t fakesink"],
      ["chain-2", "t", "queue print"],
    ]);
  });

  test("chains that start in a branch belong to it", () => {
    assert.deepEqual(segmentsOf("videotestsrc ! tee name=t t. ! tee name=u ! fakesink u. ! queue ! print"), [
      ["main", null, "videotestsrc t"],
      ["chain-2", "t", "u fakesink queue print"],
    ]);
  });

  test("a chain that leads back into main is main", () => {
    assert.deepEqual(segmentsOf("videotestsrc ! tee name=t ! funnel name=f ! fakesink t. ! queue ! f."), [
      ["main", null, "videotestsrc t f fakesink queue"],
    ]);
  });

  test("two branches that meet are main", () => {
    assert.deepEqual(segmentsOf("videotestsrc ! tee name=t t. ! funnel name=f ! fakesink t. ! queue ! f."), [
      ["main", null, "videotestsrc t f fakesink queue"],
    ]);
  });

  test("a second source that feeds a branch makes it main", () => {
    assert.deepEqual(segmentsOf("videotestsrc ! tee name=t t. ! funnel name=f ! fakesink videotestsrc ! f."), [
      ["main", null, "videotestsrc t f fakesink videotestsrc-2"],
    ]);
  });

  test("a chain that starts at a demuxer is main", () => {
    assert.deepEqual(segmentsOf("filesrc location=a.mp4 ! qtdemux name=d d.video_0 ! fakesink d. ! queue ! fakesink"), [
      ["main", null, "filesrc d fakesink queue fakesink-2"],
    ]);
  });

  test("a branch begins with the link from its tee, even when a chain of it is written before", () => {
    const { plan } = compileText(
      "graph: g\nchains:\n  main: [source, { tee: { name: t } }]\n  b: [{ from: u }, print]\n  a: [{ from: t }, { tee: { name: u } }]\n",
    );
    assert.deepEqual(
      plan?.branches.map((branch) => [branch.name, branch.links[0]]),
      [["a", { from: "t", fromPad: "src_%u", to: "u" }]],
    );
  });
});

describe("links", () => {
  test("pads named by the author are kept, others of the element get the next free number", () => {
    const { plan } = compileLine("videotestsrc ! tee name=t t.src_3 ! m.sink_1 t. ! compositor name=m ! fakesink");
    assert.deepEqual(
      plan?.main.links.filter((link) => link.to === "m"),
      [
        { from: "t", fromPad: "src_3", to: "m", toPad: "sink_1" },
        { from: "t", fromPad: "src_0", to: "m", toPad: "sink_0" },
      ],
    );
  });

  test("metadata must be written on every path into a join", () => {
    const line = (step: string) => `videotestsrc ! detect ! funnel name=f ! track ! print videotestsrc ! ${step} ! f.`;
    assert.deepEqual(compileLine(line("detect")).faults, []);
    assert.deepEqual(
      compileLine(line("report")).faults.map((fault) => fault.code),
      ["missing_metadata"],
    );
  });

  test("metadata reaches branches and slots after a tee", () => {
    const text = (step: string) => `graph: g
chains:
  main: [source, { caps: "video/x-raw,format=I420" }, ${step}, { tee: { name: t } }]
slots:
  s: { chain: [{ from: t }, track, print] }
`;
    assert.deepEqual(compileText(text("detect")).faults, []);
    assert.deepEqual(
      compileText(text("report")).faults.map((fault) => [fault.code, fault.at.line]),
      [["missing_metadata", 5]],
    );
  });
});

describe("slots", () => {
  test("several instances attach side by side", () => {
    const compiled = compileText(DETECT);
    const names = ["1", "2"].map((instance) =>
      compiled.slot("feed", instance, {}).segment?.nodes.map((node) => node.name),
    );
    assert.deepEqual(names, [
      ["feed:1/stage", "feed:1/overlay", "feed:1/jpegenc", "feed:1/feed"],
      ["feed:2/stage", "feed:2/overlay", "feed:2/jpegenc", "feed:2/feed"],
    ]);
  });

  test("reports why a slot cannot be attached", () => {
    const compiled = compileText(DETECT);
    const codes = (name: string, instance: string, params = {}) =>
      compiled.slot(name, instance, params).faults.map((fault) => fault.code);
    assert.deepEqual(codes("fed", "1"), ["unknown_node"]);
    assert.deepEqual(codes("feed", "../1"), ["bad_param"]);
    assert.deepEqual(codes("rtsp", "1"), ["missing_param"]);
    assert.deepEqual(codes("rtsp", "1", { path: 7 }), ["bad_param"]);
    assert.deepEqual(codes("rtsp", "1", { path: "a", speed: 1 }), ["unknown_param"]);
  });

  test("a slot must start at a tee of main and must not lead back", () => {
    const graph = (chain: string) => `graph: g
chains:
  main: [source, { queue: { name: q } }, { tee: { name: t } }, print]
  b: [{ from: t }, { tee: { name: u } }, fakesink]
slots: { s: { chain: [${chain}] } }
`;
    const codes = (chain: string) => compileText(graph(chain)).faults.map((fault) => [fault.code, fault.at.line]);
    assert.deepEqual(codes("{ from: t }, fakesink"), []);
    assert.deepEqual(codes("videotestsrc, fakesink"), [["chain_from_nowhere", 5]]);
    assert.deepEqual(codes("{ from: q }, fakesink"), [["not_linkable", 5]]);
    assert.deepEqual(codes("{ from: u }, fakesink"), [["not_linkable", 5]]);
    assert.deepEqual(codes("{ from: x }, fakesink"), [["unknown_node", 5]]);
    assert.deepEqual(codes("{ from: t }, { to: q }"), [["document_shape", 5]]);
    assert.deepEqual(codes("{ from: t }, queue"), [["not_linkable", 5]]);
  });

  test("a tee with slots only may end a chain", () => {
    const compiled = compileText(
      "graph: g\nchains: { main: [source, { tee: { name: t } }] }\nslots: { s: { chain: [{ from: t }, print] } }\n",
    );
    assert.deepEqual(compiled.faults, []);
    assert.deepEqual(compiled.plan?.main.nodes.at(-1)?.properties, { "allow-not-linked": true });
  });
});
