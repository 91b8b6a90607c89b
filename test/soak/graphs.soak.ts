import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { compile } from "../../graphs/compiler/compile.ts";
import { usesOf } from "../../graphs/compiler/fault.ts";
import type { LoadGraph } from "../../graphs/compiler/graph-levels.ts";
import { EDITS, mutated } from "../../graphs/compiler/mutations.fixture.ts";
import { inputWith } from "../graph.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const FOLDER = fileURLToPath(new URL("../../graphs/", import.meta.url));
const readAll = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => readFileSync(folder + name, "utf8"));

const PARTS = `graph: parts
params: { codec: { enum: [h264, h265], default: h264 }, large: { type: boolean, default: true } }
parts:
  write:
    about: The video with bounding boxes as a file.
    params: { path: { type: string }, height: { enum: [360p, 720p, null], default: null }, codec: { enum: [h264, h265] } }
    chain:
      - resize: { to: $height }
      - use: { part: draw, name: drawn }
      - encode: { codec: $codec, keyframe-seconds: 1 }
      - record: { path: "out-\${path}.mp4", codec: $codec }
  draw: { chain: [overlay] }
chains:
  main: [source, decode, stage, detect, track, { tee: { name: frames } }]
  one: [{ from: frames }, stage, { use: { part: write, path: a, codec: $codec, when: large } }]
  two: [{ from: frames }, stage, { use: { part: write, path: b, height: 360p, codec: $codec, name: small } }]
slots:
  more: { params: { path: { type: string } }, chain: [{ from: frames }, stage, { use: { part: write, path: $path, codec: h264, name: more } }] }
`;

const USES_LIBRARY = `graph: uses-library
chains:
  main: [source, decode, stage, detect, track, { use: { part: "library#cars", least: 0.6 } }, { tee: { name: frames } }, detections]
  file: [{ from: frames }, stage, { use: { part: "library#write", path: a.mp4 } }]
`;

const LIBRARY = `graph: library
parts:
  cars: { params: { least: { type: number, default: 0.5 } }, chain: [{ filter: "class_name in ['car', 'truck'] && confidence > \${least}" }, { use: counted }] }
  counted: { chain: [{ count: { as: cars } }] }
  write: { params: { path: { type: string } }, chain: [overlay, encode, { record: { path: $path } }] }
`;

const EXPRESSIONS = `graph: expressions
params: { least: { type: number, minimum: 0, maximum: 1, default: 0.4, live: true } }
chains:
  main:
    - source
    - decode
    - stage
    - detect: { confidence: $least }
    - track
    - filter: "class_name in ['car', 'person'] && (width * height > 0.001 || confidence >= \${least})"
    - map: { set: { area: "width * height", big: "width > 0.2 ? 'big' : 'small'" }, frame: { wide: "frame_width > 1000" } }
    - count: { as: people, where: "class_name == 'person' && area > 0.01", region: [[0, 0], [1, 0], [1, 1]] }
    - map: { frame: { crowded: "people > 3 && wide" } }
    - filter: { where: "!predicted && ['a', 'b'].all(x, big != x)" }
    - detections
`;

const TESTS = `graph: tested
params: { confidence: { type: number, minimum: 0, maximum: 1, default: 0.4 } }
chains:
  main: [source, decode, stage, { detect: { confidence: $confidence } }, track, alerts, detections]
tests:
  people-cross:
    about: People are detected, and some enter the gate.
    clip: clip.mp4
    frames: 100
    params: { confidence: 0.5 }
    alerts: [{ alias: gate, type: filter-search, filter: { class_names: [person] } }]
    expect: { frames: 100, detections.person: ">=10", tracks.person: 1..50, alerts.gate.triggered: 1.., golden: people.json }
  nobody: { clip: "test:smpte?frames=25", expect: { frames: 25, tracks: 0 } }
`;

const templates = readAll(FOLDER);
const BASES = new Map([
  ...["demo", "detect", "preview", "record"].map(
    (name) => [name, readFileSync(`${FOLDER}${name}.yaml`, "utf8")] as const,
  ),
  ["library", LIBRARY] as const,
]);

/** By what is mutated. `library` mutates a file whose parts another graph uses. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  template: templates,
  recipe: readAll(`${FOLDER}recipes/`),
  parts: [PARTS],
  "parts of another file": [USES_LIBRARY],
  library: [LIBRARY],
  expressions: [EXPRESSIONS],
  tests: [TESTS],
};

interface Count {
  mutated: number;
  rejected: number;
  faults: number;
}

const input = { ...inputWith(), mode: "check" as const, source: { uri: "test:ball" } };

/** Compiles a text of a kind; resolves with the texts by their files as well. */
function compileAs(kind: string, text: string) {
  const isLibrary = kind === "library";
  const bases = isLibrary ? new Map([...BASES, ["library", text]]) : BASES;
  const load: LoadGraph = (name) => {
    const found = bases.get(name);
    return found === undefined ? undefined : { file: `${name}.yaml`, text: found };
  };
  const graph = isLibrary ? USES_LIBRARY : text;
  const texts = new Map([...[...bases].map(([name, base]) => [`${name}.yaml`, base] as const), ["mutant.yaml", graph]]);
  return { ...compile({ file: "mutant.yaml", text: graph }, { ...input, load }), texts };
}

test("the graphs compile before they are mutated", () => {
  for (const [kind, texts] of Object.entries(KINDS))
    for (const text of texts) assert.deepEqual(compileAs(kind, text).faults, [], text.slice(0, 200));
});

test("a mutated graph never crashes the compiler, and every fault has a line and a column", {
  timeout: rounds(240_000, 1_800_000),
}, () => {
  const counts = new Map<string, Count>(
    Object.keys(KINDS).map((kind) => [kind, { mutated: 0, rejected: 0, faults: 0 }]),
  );
  const edits = new Map(EDITS.map((name) => [name, 0]));
  const mutant = fc
    .constantFrom(...Object.entries(KINDS))
    .chain(([kind, texts]) => fc.record({ kind: fc.constant(kind), mutant: mutated(texts) }));
  fc.assert(
    fc.property(mutant, ({ kind, mutant: { text, edits: made } }) => {
      const { plan, faults, texts } = compileAs(kind, text);
      const count = counts.get(kind) as Count;
      count.mutated++;
      count.faults += faults.length;
      if (plan === null) count.rejected++;
      for (const name of made) edits.set(name, (edits.get(name) ?? 0) + 1);
      assert.equal(plan === null, faults.length > 0);
      for (const { at, message } of faults.flatMap((fault) => [
        fault,
        ...usesOf(fault.at).map((use) => ({ ...fault, at: use })),
      ])) {
        const lines = texts.get(at.file ?? "")?.split("\n");
        const line = lines?.[at.line - 1];
        assert.ok(line !== undefined, `${message} at ${at.file}:${at.line} of ${lines?.length} lines`);
        assert.ok(at.column >= 1 && at.column <= line.length + 1, `${message} at column ${at.column}: ${line}`);
        assert.ok(message.length > 0);
      }
    }),
    { numRuns: rounds(50, 5_000) },
  );
  const all = { mutated: 0, rejected: 0, faults: 0 };
  for (const [kind, { mutated, rejected, faults }] of counts) {
    process.stderr.write(`${kind}: ${mutated} mutated, ${rejected} rejected with ${faults} faults\n`);
    all.mutated += mutated;
    all.rejected += rejected;
    all.faults += faults;
  }
  process.stderr.write(`edits: ${[...edits].map(([name, number]) => `${number} ${name}`).join(", ")}\n`);
  process.stderr.write(
    `all: ${all.mutated} mutated, ${all.rejected} rejected, ${all.mutated - all.rejected} compiled; ${all.faults} faults, each with a line and a column\n`,
  );
  assert.ok(all.rejected > 0 && all.rejected < all.mutated, "both outcomes occur");
});
