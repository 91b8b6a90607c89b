import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { withoutModel } from "../../test/golden/golden.fixture.ts";
import { paintStreet } from "../../test/golden/street.fixture.ts";
import { makeFolder, windhover } from "../windhover.fixture.ts";

// Before the first test: it may be the last one that is known when it has ended.
const skip = await withoutModel("default");
const folder = makeFolder();
writeFileSync(join(folder, "text.mp4"), "no video at all");

const refusals: readonly (readonly [words: readonly string[], code: number, message: RegExp])[] = [
  [
    ["check", "detect", "text.mp4"],
    1,
    /no golden file text\.detect\.golden\.ndjson\n.* npx windhover golden record detect text\.mp4$/m,
  ],
  [["check", "detect", "text.mp4", "a b", "every=2"], 1, /golden record detect text\.mp4 every=2 -o 'a b'$/m],
  [["record", "detect", "rtsp://camera/stream"], 2, /expected a file: only a file always gives the same frames/],
  [["record", "detect", "none.mp4"], 1, /there is no file none\.mp4/],
  [["record", "detect", "text.mp4", "confidence=2"], 2, /confidence=2: .*a number from 0 to 1 or null/],
  [["record", "detect", "text.mp4", "-o", "no/a.ndjson"], 1, /there is no folder no; create it first/],
  [["record", "detect", "text.mp4", "more"], 2, /unexpected argument "more"; expected GRAPH CLIP/],
  [["record", "detect"], 2, /missing: GRAPH and CLIP/],
  [["check", "detect", "text.mp4", "--tolerance", "exat"], 2, /did you mean "exact"/],
];
for (const [words, code, message] of refusals)
  test(`golden ${words.join(" ")} is rejected with a hint`, async () => {
    const { code: found, stdout, stderr } = await windhover(["golden", ...words], folder);
    assert.deepEqual({ code: found, stdout }, { code, stdout: "" }, stderr);
    assert.match(stderr, message);
  });

describe("a golden of a clip", { skip }, () => {
  const golden = join(folder, "street.detect.golden.ndjson");
  const check = (...more: readonly string[]) => windhover(["golden", "check", "detect", "street.y4m", ...more], folder);
  before(async () => {
    paintStreet(join(folder, "street.y4m"), 20);
    const { code, stdout, stderr } = await windhover(
      ["golden", "record", "detect", "street.y4m", "confidence=0.5", "--frames", "6"],
      folder,
    );
    assert.equal(code, 0, stderr);
    assert.equal(stdout, "recorded: street.detect.golden.ndjson, 6 messages\n");
  });

  test("names what it is of, and holds no path and no time of this machine", () => {
    const text = readFileSync(golden, "utf8");
    const header = JSON.parse(text.split("\n", 1)[0] ?? "");
    assert.deepEqual(header.params, { confidence: 0.5 });
    assert.deepEqual([header.clip.name, header.frames, header.models[0].confidence], ["street.y4m", 6, 0.5]);
    assert.ok(!text.includes(folder));
    assert.ok(!text.includes(`${new Date().getFullYear()}-`));
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith(".part")),
      [],
    );
  });

  test("is reproduced exactly, and not overwritten without --force", async () => {
    const { code, stdout, stderr } = await check("--tolerance", "exact");
    assert.deepEqual({ code, stdout }, { code: 0, stdout: "detections: 6 frames, no differences\n" }, stderr);
    const again = await windhover(["golden", "record", "detect", "street.y4m"], folder);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /the golden file .* exists\n {2}--force replaces it/);
  });

  test("reports the first differing frame, its track and the amount, then counts of all", async () => {
    const edited = join(folder, "edited.ndjson");
    const lines = readFileSync(golden, "utf8").split("\n");
    const shift = (line: string) => {
      const said = JSON.parse(line);
      said.message.active_tracks[0].bbox[0] += 50;
      return JSON.stringify(said);
    };
    const header = (lines[0] ?? "").replace(/"sha256":"[0-9a-f]{4}/g, '"sha256":"0000');
    writeFileSync(
      edited,
      [header, ...lines.slice(1).map((line, index) => (index === 4 ? shift(line) : line))].join("\n"),
    );
    const { code, stdout, stderr } = await check("edited.ndjson");
    assert.equal(code, 1, stderr);
    const [clip, model, first, was, is, summary, boxes] = stdout.split("\n");
    assert.match(clip ?? "", /^note: this is another clip: street\.y4m had the sha256 0000/);
    assert.match(model ?? "", /^note: the model "default" has other weights/);
    assert.match(
      first ?? "",
      /^detections: first difference: frame 5 \(0\.160 s\): track \d box is off by \d\d\.\d px \(IoU 0\.\d\d\)$/,
    );
    assert.match(was ?? "", /^ {4}golden {2}\{"id":\d/);
    assert.match(is ?? "", /^ {4}now {5}\{"id":\d/);
    assert.equal(summary, "detections: 1 of 6 frames differ");
    assert.match(boxes ?? "", /^ {2}boxes +1, worst \d\d(\.\d+)? px at frame 5, track \d$/);
    const { code: jsonCode, stdout: json } = await check("edited.ndjson", "--json");
    assert.equal(jsonCode, 1);
    const report = JSON.parse(json);
    assert.deepEqual([report.same, report.streams[0].frames_differing, report.streams[0].boxes], [false, 1, 1]);
  });

  test("lists the differences from the header", async () => {
    const { code, stdout } = await check("confidence=0.99");
    assert.equal(code, 1);
    assert.match(stdout, /^note: with confidence=0\.99, which differs from the golden file\n/);
    assert.match(stdout, /missing objects +\d+, of tracks 1, 2/);
  });

  test("is not recorded from a graph that sends nothing", async () => {
    const { code, stderr } = await windhover(["golden", "record", "demo", "street.y4m", "--frames", "3"], folder);
    assert.equal(code, 1);
    assert.match(stderr, /the graph "demo" sent no message on street\.y4m/);
    assert.ok(!existsSync(join(folder, "street.demo.golden.ndjson")));
  });
});
