import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { withoutModel } from "../../test/golden/golden.fixture.ts";
import { CAMERA, paintStreet } from "../../test/golden/street.fixture.ts";
import { makeFolder, windhover } from "../windhover.fixture.ts";

// Before the first test: it may be the last one that is known when it has ended.
const skip = await withoutModel("default");
const folder = makeFolder();
/** Of a clip with inference. */
const FRAMES = 14;
mkdirSync(join(folder, "graphs/parts"), { recursive: true });
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const run = (...words: readonly string[]) => windhover(["test", ...words], folder);

/** Without a model: frames of a test pattern. */
const plain = (tests: string): string => `graph: plain
params: { size: { type: integer, default: 5 } }
chains: { main: [source, decode, { queue: { max-size-buffers: $size } }, fakesink] }
tests:
${tests}`;
write(
  "graphs/good.yaml",
  plain('  ends: { clip: "test:ball?frames=20", params: { size: 3 }, expect: { frames: 20 } }\n'),
);
write("graphs/untested.yaml", "graph: untested\nchains: { main: [source, decode, fakesink] }\n");
write("graphs/parts/more.yaml", "graph: more\nparts: { one: { chain: [queue] } }\n");
write(
  "bad.yaml",
  plain(
    '  first: { clip: "test:ball", frames: 5, expect: { frames: 5 } }\n  second: { clip: "test:ball", frames: 5, expect: { frames: 6..7, fps_ratio: "<0.001" } }\n',
  ),
);

test("runs the tests of all graph files below graphs, and exits with 0", async () => {
  const { code, stdout, stderr } = await run();
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /^graphs\/good\.yaml\n {2}✓ ends \(\d+\.\d s\)\n1 test passed\n$/);
});

test("finds a clip in `clips` of the workspace, and one beside the graph file before it", async () => {
  const workspace = join(folder, "site");
  for (const place of ["graphs", "clips"]) mkdirSync(join(workspace, place), { recursive: true });
  writeFileSync(join(workspace, "windhover.yaml"), "graphs: { folders: [graphs] }\n");
  paintStreet(join(workspace, "clips/short.y4m"), 3);
  writeFileSync(join(workspace, "graphs/own.yaml"), plain("  ends: { clip: short.y4m, expect: { frames: 3 } }\n"));
  const there = await windhover(["test"], join(workspace, "clips"));
  assert.equal(there.code, 0, there.stdout + there.stderr);
  paintStreet(join(workspace, "graphs/short.y4m"), 2);
  const beside = await windhover(["test"], workspace);
  assert.match(beside.stdout, /frames is 2; expected 3/);
});

test("finds a clip among those that were downloaded", async () => {
  const cache = join(folder, "cache");
  mkdirSync(join(cache, "clips"), { recursive: true });
  paintStreet(join(cache, "clips/short.y4m"), 3);
  write("own.yaml", plain("  ends: { clip: short.y4m, expect: { frames: 3 } }\n"));
  const { code, stdout, stderr } = await windhover(["test", "own.yaml"], folder, { WINDHOVER_CACHE_DIR: cache });
  assert.equal(code, 0, stdout + stderr);
});

test("prints what was found and expected, with its place, and exits with 1", async () => {
  const { code, stdout } = await run("bad.yaml");
  assert.equal(code, 1);
  assert.match(
    stdout,
    /✓ first .*\n {2}✗ second .*\n {6}bad\.yaml:6:61: frames is 5; expected 6\.\.7\n {6}bad\.yaml:6:78: fps_ratio is [\d.]+; expected <0\.001\n2 tests: 1 passed, 1 failed\n$/,
  );
});

test("runs only the named tests, and reports them as TAP and JUnit XML", async () => {
  const { code, stdout } = await run("bad.yaml", "--only", "second", "--tap", "--junit", "results.xml");
  assert.equal(code, 1);
  const lines = stdout.split("\n");
  assert.deepEqual(lines.slice(0, 3), ["TAP version 14", "1..1", "not ok 1 - bad.yaml: second"]);
  assert.ok(lines.includes('      message: "frames is 5; expected 6..7"'));
  const xml = readFileSync(join(folder, "results.xml"), "utf8");
  assert.match(xml, /<testsuite name="bad\.yaml" tests="1" failures="1"/);
  assert.match(xml, /<failure message="fps_ratio is [\d.]+; expected &lt;0\.001">bad\.yaml:6:78: /);
});

describe("exits with 2", () => {
  const refusals: readonly (readonly [what: string, tests: string, words: readonly string[], says: RegExp])[] = [
    [
      "for a wrong range",
      '  a: { clip: "test:ball", frames: 5, expect: { frames: 7..6 } }\n',
      [],
      /^own\.yaml:5:56: "frames" is "7\.\.6"/,
    ],
    [
      "for a missing clip",
      "  a: { clip: none.mp4, expect: { frames: 6 } }\n",
      [],
      /^own\.yaml:5:14: there is no file none\.mp4, nor .*\/clips\/none\.mp4/,
    ],
    [
      "for a clip that only a service has",
      '  a: { clip: "source:yard", expect: { frames: 6 } }\n',
      [],
      /^own\.yaml:5:14: "source:yard" is a source of a service \(expected a file, .*`POST \/graphs\/\{name\}\/test`/,
    ],
    [
      "for a metric that the graph cannot have",
      '  a: { clip: "test:ball", frames: 5, expect: { tracks: 6 } }\n',
      [],
      /^own\.yaml:5:56: "tracks" needs the element `detections`, and the graph has none/,
    ],
    [
      "for alerts of a graph without the element",
      '  a: { clip: "test:ball", frames: 5, alerts: [{ alias: b, type: filter-search }], expect: { alerts.c: 6 } }\n',
      [],
      /needs the element `alerts`/,
    ],
    [
      "for an unknown test",
      '  here: { clip: "test:ball", frames: 5, expect: { frames: 5 } }\n',
      ["--only", "hre"],
      /no test is named "hre"; there are here; did you mean "here"\?/,
    ],
  ];
  for (const [what, tests, words, says] of refusals)
    test(what, async () => {
      write("own.yaml", plain(tests));
      const { code, stderr } = await run("own.yaml", ...words);
      assert.equal(code, 2, stderr);
      assert.match(stderr, says);
    });

  test("for a file without tests, and a folder without graphs", async () => {
    const none = await run("graphs/untested.yaml");
    assert.deepEqual([none.code, none.stderr], [2, "windhover: there are no tests; add `tests:` to a graph file\n"]);
    const empty = await windhover(["test"], join(folder, "graphs"));
    assert.equal(empty.code, 2);
    assert.match(empty.stderr, /there is no workspace and no folder graphs here/);
  });

  test("for one wrong file, and the tests of the others are run", async () => {
    write("own.yaml", "graph: own\nchains: { main: [source, nothing] }\ntests: { a: { expect: { frames: 1 } } }\n");
    const { code, stdout, stderr } = await run("own.yaml", "graphs/good.yaml");
    assert.equal(code, 2);
    assert.match(stderr, /own\.yaml:2:\d+: unknown element "nothing"/);
    assert.match(stdout, /✓ ends/);
  });
});

test("a test that does not end in time fails", async () => {
  write("own.yaml", plain('  a: { clip: "test:ball", frames: 100000000, expect: { frames: 5 } }\n'));
  const { code, stdout } = await run("own.yaml", "--timeout", "0.5");
  assert.equal(code, 1);
  assert.match(stdout, /own\.yaml:5:3: the run did not end within 0\.5 s; --timeout SECONDS allows more/);
});

describe("detections of a clip", { skip }, () => {
  before(async () => {
    paintStreet(join(folder, "street.y4m"), FRAMES);
    write("camera.ndjson", `${JSON.stringify({ timestamp: 0, ...CAMERA })}\n`);
    const words = ["golden", "record", "detect", "street.y4m", "--frames", String(FRAMES), "-o", "street.ndjson"];
    assert.equal((await windhover(words, folder)).code, 0);
  });
  const street = (more: string, expected: string): string => `graph: street
extends: detect
tests:
  cars:
    clip: ${join(folder, "street.y4m")}
    frames: ${FRAMES}
    ${more}
    expect: ${expected}
`;
  const ALERTS = "alerts: [{ alias: cars.seen, type: filter-search, filter: { class_names: [car] } }]";

  test("are counted by frame, class, track and alert", async () => {
    const counts = `{ messages: ${FRAMES}, detections.car: ">=6", tracks.car: 1..3, tracks: 2..6, alerts.cars.seen.triggered: 1.., alerts: "<100" }`;
    write("own.yaml", street(ALERTS, counts));
    const { code, stdout, stderr } = await run("own.yaml");
    assert.equal(code, 0, stdout + stderr);
  });

  test("are compared with a golden file, also where alerts are set", async () => {
    write("own.yaml", street(`${ALERTS}\n    telemetry: camera.ndjson`, "{ golden: street.ndjson }"));
    const located = await run("own.yaml");
    assert.equal(located.code, 1, "telemetry adds positions");
    assert.match(located.stdout, /own\.yaml:9:23: golden has \d+ differences from street\.ndjson, the first: /);
    write("own.yaml", street(ALERTS, "{ golden: street.ndjson }"));
    const same = await run("own.yaml");
    assert.equal(same.code, 0, same.stdout + same.stderr);
  });

  test("of a class that the model does not have, of unknown alerts and of unknown counts are faults", async () => {
    write("own.yaml", street(ALERTS, "{ tracks.cra: 1, alerts.cars.sen: 1, counts.cars: 1 }"));
    const { code, stderr } = await run("own.yaml");
    assert.equal(code, 2);
    assert.match(stderr, /own\.yaml:8:27: the graph never detects the class "cra" .*did you mean "car"/);
    assert.match(stderr, /own\.yaml:8:47: there is no alert "cars\.sen" .*did you mean "cars\.seen"/);
    assert.match(stderr, /own\.yaml:8:63: nothing is counted as "cars" \(expected `count: \{ as: cars \}` in a chain/);
  });

  test("and wrong alerts are located", async () => {
    write("own.yaml", street("alerts: [{ alias: a, type: filter-serch }]", "{ alerts: 1 }"));
    const { code, stderr } = await run("own.yaml");
    assert.equal(code, 2);
    assert.match(stderr, /own\.yaml:7:26: type /);
  });
});
