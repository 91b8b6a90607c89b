import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { compareGoldens } from "../../cli/golden/compare.ts";
import { readFrame, type SeenObject } from "../../cli/golden/frames.ts";
import type { Golden } from "../../cli/golden/golden.ts";
import { formatSaid as formatOne } from "../../cli/golden/golden.ts";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { compareWithGolden, countFrames, record, withoutModel } from "./golden.fixture.ts";
import { paintStreet, STREET } from "./street.fixture.ts";

/** Until both cars are visible. */
const FEW = 20;
const formatSaid = ({ said }: Golden): string => said.slice(0, FEW).map(formatOne).join("\n");

const noModel = await withoutModel("default");

describe("the graph detect on a synthetic street", { skip: noModel }, () => {
  const clip = join(temporaryFolder(), "street.y4m");
  let golden: Golden;
  before(async () => {
    paintStreet(clip);
    golden = await record(clip);
  });

  test("matches the golden", () => {
    const { stream, text } = compareWithGolden("street", golden);
    assert.equal(stream.messages, STREET.frames);
    assert.equal(stream.differences.length, 0, text);
  });

  test("is reproducible byte for byte", async () => {
    const second = await record(clip, { frames: FEW });
    assert.equal(formatSaid(second), formatSaid(golden));
  });

  test("differs from the golden with another non-maximum suppression", async () => {
    const graph = join(temporaryFolder(), "detect.yaml");
    const text = readFileSync(new URL("../../graphs/detect.yaml", import.meta.url), "utf8");
    writeFileSync(graph, text.replace("detect: { model: $model,", "detect: { model: $model, overlap: 0.95,"));
    const faulty = await record(clip, { graph, frames: FEW });
    const first = { ...golden, said: golden.said.slice(0, FEW) };
    const [stream] = compareGoldens(first, faulty, "other");
    assert.notDeepEqual(stream?.differences, []);
  });

  test("detects a stop sign, a clock, and two cars that keep their ids while they pass each other", () => {
    const tracks = new Map<number, SeenObject[]>();
    for (const { id, ...rest } of golden.said.flatMap((said) => readFrame(said)?.objects ?? []))
      tracks.set(id, [...(tracks.get(id) ?? []), { id, ...rest }]);
    assert.deepEqual([...tracks.values()].map((sightings) => sightings[0]?.className).sort(), [
      "car",
      "car",
      "clock",
      "stop sign",
    ]);
    for (const sightings of tracks.values()) {
      const [first, last] = [sightings[0]?.box[0] ?? 0, sightings.at(-1)?.box[0] ?? 0];
      const isCar = sightings[0]?.className === "car";
      assert.ok(isCar ? Math.abs(last - first) > STREET.width / 2 : Math.abs(last - first) < 3, `${first} → ${last}`);
    }
  });
});

const FRAMES = 100;
/** Then two people cross: who is who depends on the last digits of their boxes, which differ between processors. */
const UNTIL_CROSSING = 39;

describe("the graph detect on walking people", {
  skip: noModel || (testClip("vtest.avi") === null && MISSING_CLIP),
}, () => {
  test("matches the golden", async () => {
    const frames = countFrames("vtest", FRAMES, UNTIL_CROSSING);
    const now = await record(testClip("vtest.avi") ?? "", { frames, params: { classes: "person" } });
    const { stream, text } = compareWithGolden("vtest", now, UNTIL_CROSSING);
    assert.equal(stream.messages, frames);
    assert.equal(stream.differences.length, 0, text);
  });
});
