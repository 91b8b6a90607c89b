import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Compiled } from "./compile.ts";
import { compileLine, compileText, DETECT, messagesOf } from "./compiler.fixture.ts";
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

const LINE = `videotestsrc pattern=ball num-buffers=5 ! video/x-raw, width=640 ! tee name=t t. ! queue leaky=no ! fakesink t. ! jpegenc ! filesink location="a b"`;

const load = (name: string) => (name === "detect" ? { file: "detect.yaml", text: DETECT } : undefined);

function assertLocated({ plan, faults }: Compiled, texts: ReadonlyMap<string | null, string>): void {
  assert.equal(plan === null, faults.length > 0);
  for (const { at, message } of faults) {
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
  for (const text of [DETECT, VARIANT]) assert.deepEqual(messagesOf(compileText(text, { load })), []);
  assert.deepEqual(messagesOf(compileLine(LINE)), []);
});

test("a damaged graph compiles or gets faults at places in its text, and never throws", () => {
  fc.assert(
    fc.property(mutated([DETECT, VARIANT]), fc.constantFrom("check" as const, "run" as const), (text, mode) => {
      const compiled = compileText(text, { load, mode });
      assertLocated(
        compiled,
        new Map([
          ["a.yaml", text],
          ["detect.yaml", DETECT],
        ]),
      );
      for (const name of Object.keys(compiled.plan?.slots ?? {})) compiled.slot(name, "1", { path: "p" });
    }),
    { numRuns: RUNS },
  );
});

test("a damaged launch line compiles or gets faults at places in it, and never throws", () => {
  fc.assert(
    fc.property(mutated([LINE]), (line) => assertLocated(compileLine(line), new Map([[null, line]]))),
    { numRuns: RUNS },
  );
});

test("random text gets faults at places in it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) =>
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
