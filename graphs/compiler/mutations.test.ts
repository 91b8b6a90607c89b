import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../test/any-character.fixture.ts";
import type { Compiled } from "./compile.ts";
import { compileLine, compileText, DETECT, messagesOf } from "./compiler.fixture.ts";
import { usesOf } from "./fault.ts";
import { mutated } from "./mutations.fixture.ts";

const RUNS = 1_000;

const VARIANT = `graph: variant
extends: detect
params: { confidence: { default: 0.2 }, small: { type: boolean, default: true } }
set: { detect: { confidence: 0.3 }, feed/jpegenc: { quality: 50 } }
insert:
  - after: decode
    steps: [{ videoconvert: { when: small } }, { caps: "video/x-raw,width=640" }]
remove: [report, rtsp/overlay]
chains:
  more: [{ from: frames }, { stage: { buffers: 3, when: !small } }, { filesink: { location: "out-\${model}.bin" } }]
`;

const PARTS = `graph: parts
params: { size: { type: integer, default: 3, live: true }, small: { type: boolean, default: true } }
parts:
  buffer:
    about: A queue, and a copy of the frames.
    params: { count: { type: integer, minimum: 1, default: 5 }, keep: { type: boolean, default: false }, to: { type: string } }
    chain:
      - queue: { max-size-buffers: $count, name: q }
      - use: { part: copy, when: keep, name: more }
      - identity: { when: $count == 5 }
      - filesink: { location: "out-\${to}-$$.bin" }
  copy: { chain: [videoconvert, { tee: { name: copies } }] }
chains:
  main: [source, decode, { use: copy }, { use: "library#scale" }, print]
  left: [{ from: copies }, { use: { part: buffer, count: $size, keep: $small, to: a, name: left } }]
tests:
  counts: { clip: a.mp4, params: { size: 2 }, frames: 9, alerts: [{ alias: gate }], expect: { tracks.person: 3..5, alerts.gate.triggered: ">=1" } }
slots:
  right: { params: { path: { type: string } }, chain: [{ from: copies }, { use: { part: buffer, to: "x-\${path}", name: r } }] }
  plain: { params: { path: { type: string } }, chain: [{ from: copies }, { use: { part: "library#end", path: $path } }] }
`;

const LIBRARY = `graph: library
parts:
  scale: { params: { width: { type: integer, default: 640 } }, chain: [videoconvert, { caps: "video/x-raw,width=\${width}" }] }
  end: { params: { path: { type: string } }, chain: [{ use: scale }, { filesink: { location: $path } }] }
`;

const LINE = `videotestsrc pattern=ball num-buffers=5 ! video/x-raw, width=640 ! tee name=t t. ! queue leaky=no ! fakesink t. ! jpegenc ! filesink location="a b"`;

const loaderOf = (library: string) => (name: string) =>
  name === "detect"
    ? { file: "detect.yaml", text: DETECT }
    : name === "library"
      ? { file: "library.yaml", text: library }
      : undefined;
const load = loaderOf(LIBRARY);

function assertLocated({ plan, faults }: Compiled, texts: ReadonlyMap<string | null, string>): void {
  assert.equal(plan === null, faults.length > 0);
  for (const { at, message } of faults.flatMap((fault) => [
    fault,
    ...usesOf(fault.at).map((at) => ({ ...fault, at })),
  ])) {
    const lines = texts.get(at.file)?.split("\n");
    assert.ok(lines !== undefined, `a fault in an unknown file: ${at.file}`);
    const line = lines[at.line - 1];
    assert.ok(line !== undefined, `line ${at.line} of ${lines.length}: ${message}`);
    assert.ok(at.column >= 1 && at.column <= line.length + 1, `column ${at.column} of ${line.length}: ${message}`);
    assert.ok(message.length > 0 && message.length < 2_000);
  }
  const shown = messagesOf({ faults });
  assert.equal(new Set(shown).size, shown.length, "a fault is reported twice");
}

test("the original graphs have no faults", () => {
  for (const text of [DETECT, VARIANT, PARTS]) assert.deepEqual(messagesOf(compileText(text, { load })), []);
  assert.deepEqual(messagesOf(compileLine(LINE)), []);
});

test("a damaged graph compiles or gets faults at places in its text, and never throws", () => {
  fc.assert(
    fc.property(
      mutated([DETECT, VARIANT, PARTS]),
      fc.constantFrom("check" as const, "run" as const),
      ({ text }, mode) => {
        const compiled = compileText(text, { load, mode });
        assertLocated(
          compiled,
          new Map([
            ["a.yaml", text],
            ["detect.yaml", DETECT],
            ["library.yaml", LIBRARY],
          ]),
        );
        for (const name of Object.keys(compiled.plan?.slots ?? {})) compiled.slot(name, "1", { path: "p" });
      },
    ),
    { numRuns: RUNS },
  );
});

test("a graph compiles with damaged parts of another file, or gets faults at places in both", () => {
  fc.assert(
    fc.property(mutated([LIBRARY]), ({ text: library }) => {
      const texts = [
        ["a.yaml", PARTS],
        ["library.yaml", library],
      ] as const;
      assertLocated(compileText(PARTS, { load: loaderOf(library) }), new Map(texts));
    }),
    { numRuns: RUNS / 2 },
  );
});

test("a damaged launch line compiles or gets faults at places in it, and never throws", () => {
  fc.assert(
    fc.property(mutated([LINE]), ({ text: line }) => assertLocated(compileLine(line), new Map([[null, line]]))),
    { numRuns: RUNS },
  );
});

test("random text gets faults at places in it", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (text) =>
      assertLocated(compileText(text), new Map([["a.yaml", text]])),
    ),
    { numRuns: RUNS },
  );
});

test("any parameters are accepted or rejected with a position", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom("model", "confidence", "x", "__proto__", "constructor"), fc.jsonValue()),
      (given) => {
        const params = given as Readonly<Record<string, never>>;
        assertLocated(compileText(DETECT, { params }), new Map([["a.yaml", DETECT]]));
        const { segment, faults } = compileText(DETECT).slot("rtsp", "1", params);
        assert.equal(segment === null, faults.length > 0);
      },
    ),
    { numRuns: RUNS / 10 },
  );
});
