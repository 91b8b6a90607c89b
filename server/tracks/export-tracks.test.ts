import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { TRACKS_FORMATS } from "../../tracks/formats.ts";
import { readGeoJson } from "../../tracks/rfc7946.fixture.ts";
import type { Sql } from "../store/client.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { writeTracks } from "../store/tracks.ts";
import { exportTracks } from "./export-tracks.ts";
import { insertProcess, pointOf, reported } from "./tracks.fixture.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await testDatabase();
  sql = database.sql;
});
after(() => database.close());

const exported = (processUuid: string, format: keyof typeof TRACKS_FORMATS, isActive = true) =>
  exportTracks(sql, { processUuid, origin: { title: "yard", processUuid }, format: TRACKS_FORMATS[format], isActive });

async function join(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}

test("exports tracks by id, each with its own points, whatever the pages", async () => {
  const processUuid = await insertProcess(sql);
  const other = await insertProcess(sql);
  const counts = [0, 1, 4500, 0, 3, 0];
  const news = counts.map((count, i) => ({
    ...reported(i + 1),
    ...{ processUuid, fence: 1, patch: null },
    points: Array.from({ length: count }, (_, index) => ({ ...pointOf(index, 48 + index / 1e5), index })),
  }));
  await writeTracks(sql, [...news].reverse());
  await writeTracks(sql, [
    { ...reported(2), processUuid: other, fence: 1, patch: null, points: [{ ...pointOf(0, 1), index: 0 }] },
  ]);
  const features = readGeoJson(await join(exported(processUuid, "geojson")));
  assert.deepEqual(
    features.map(({ properties, geometry }) => [
      properties.track_id,
      geometry?.type === "LineString" ? (geometry.coordinates as unknown[]).length : (geometry?.type ?? null),
    ]),
    [
      [1, null],
      [2, "Point"],
      [3, 4500],
      [4, null],
      [5, 3],
      [6, null],
    ],
  );
  assert.ok(features.every(({ properties }) => properties.is_live === true));
  const ended = readGeoJson(await join(exported(processUuid, "geojson", false)));
  assert.ok(ended.every(({ properties }) => properties.is_live === false));
});

test("a process without tracks is a valid empty file", async () => {
  const processUuid = await insertProcess(sql);
  assert.deepEqual(readGeoJson(await join(exported(processUuid, "geojson"))), []);
  assert.equal((await join(exported(processUuid, "csv"))).split("\r\n").length, 2);
});

test("exports 30,000 tracks in bounded memory", async () => {
  const processUuid = await insertProcess(sql);
  const [tracks, points] = [30_000, 2];
  await sql`
    insert into tracks select ${processUuid}, id, id % 80, 'class ' || id % 80, to_timestamp(1700000000 + id % 86400),
      to_timestamp(1700000030 + id % 86400), 30, 0.9, 0.7, 0.5, '[1, 2, 3, 4]', false
    from generate_series(1, ${tracks}::integer) as id`;
  await sql`
    insert into track_points select ${processUuid}, id, index, to_timestamp(1700000000 + id % 86400 + index), 0.8, 1, 2, 3,
      4, 48 + id / 1e6, 11 + index / 1e4, 500, 2, 3, 90
    from generate_series(1, ${tracks}::integer) as id, generate_series(0, ${points - 1}::integer) as index`;
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  let [bytes, pieces, largest, lines] = [0, 0, 0, 0];
  const heaps: number[] = [];
  for await (const piece of exported(processUuid, "geojson")) {
    bytes += piece.length;
    largest = Math.max(largest, piece.length);
    lines += piece.split("\n").length - 1;
    if (pieces++ % 100 > 0) continue;
    collect();
    heaps.push(process.memoryUsage().heapUsed / 2 ** 20);
  }
  assert.equal(lines, tracks + 2);
  assert.ok(bytes > 12 * 2 ** 20, String(bytes));
  assert.ok(largest < 2 ** 20, String(largest));
  assert.ok(Math.max(...heaps) - (heaps[0] ?? 0) < 8, heaps.map((mb) => mb.toFixed(1)).join(" "));
});
