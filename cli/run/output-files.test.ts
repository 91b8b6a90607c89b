import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { JsonRecord } from "../../schemas/json.ts";
import { withoutModel } from "../../test/golden/golden.fixture.ts";
import { paintStreet } from "../../test/golden/street.fixture.ts";
import { type Feature, readGeoJson } from "../../tracks/rfc7946.fixture.ts";
import { makeFolder, windhover } from "../windhover.fixture.ts";
import { readTracksFile } from "./output-files.ts";

const folder = makeFolder();

test("--tracks writes every track of a run, and standard output has only what it had without", {
  skip: await withoutModel("default"),
}, async () => {
  paintStreet(join(folder, "street.y4m"), 12);
  const run = ["run", "detect", "street.y4m", "--json", "--tracks", "tracks.geojson"];
  const { code, stderr, lines } = await windhover(run, folder);
  assert.equal(code, 0, stderr);
  const messages = lines.map((line) => JSON.parse(line) as { active_tracks: { track_id: number }[] });
  assert.equal(messages.length, 12);
  const features: readonly Feature[] = readGeoJson(readFileSync(join(folder, "tracks.geojson"), "utf8"));
  const ids = new Set(messages.flatMap(({ active_tracks }) => active_tracks.map(({ track_id }) => track_id)));
  assert.deepEqual(new Set(features.map(({ properties }) => properties.track_id)), ids);
  assert.ok(ids.size >= 2);
  assert.ok(features.every(({ properties }) => properties.is_live === false));
  const notes = stderr.split("\n").filter((line) => line.startsWith("{"));
  const written = notes.map((line) => JSON.parse(line) as JsonRecord).find(({ type }) => type === "written");
  assert.deepEqual([written?.file, written?.tracks], ["tracks.geojson", ids.size]);
});

test("rejects an unusable --tracks before the run, with a hint", async () => {
  assert.throws(() => readTracksFile("out.gpx"), /--tracks writes \.geojson, \.kml, \.csv, not "out\.gpx"/);
  assert.deepEqual(readTracksFile("a.b/OUT.KML"), { file: "a.b/OUT.KML", format: "kml" });
  const { code, stdout, stderr } = await windhover(["run", "demo", "test:ball", "--tracks", "out.csv"], folder);
  assert.deepEqual({ code, stdout }, { code: 2, stdout: "" });
  assert.match(stderr, /--tracks needs the element "report", and the graph "demo" has none; add it after "track"/);
});
