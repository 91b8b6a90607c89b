import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { writeText } from "./csv.ts";
import { readGeoJson } from "./rfc7946.fixture.ts";
import { PROCESS_UUID, spotAt, trackOf, writeAll } from "./tracks.fixture.ts";

/** `NASTY` with the characters that XML cannot represent replaced. */
const REPRESENTABLE = `<b>"R&D"</b>, ]]> 'x' \ufffd\ufffd\ufffd ü 🚗`;
const NASTY = `<b>"R&D"</b>, ]]> 'x' \u0000\u0001\ud800 ü 🚗`;

interface Placemark {
  readonly name: string;
  readonly colour: string;
  readonly data: Readonly<Record<string, string>>;
  readonly lines: readonly (readonly (readonly number[])[])[];
  readonly points: readonly (readonly (readonly number[])[])[];
}

/** With Python's XML parser, independent of the implementation. */
function readKml(...texts: readonly string[]): readonly { readonly name: string; readonly placemarks: Placemark[] }[] {
  return texts.map((input) => {
    const script = fileURLToPath(new URL("read-kml.fixture.py", import.meta.url));
    const { stdout, stderr, status } = spawnSync("python3", [script], { input, encoding: "utf8", timeout: 60_000 });
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout);
  });
}

/** RFC 4180, read character by character. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  let [cell, isQuoted] = ["", false];
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] ?? "";
    if (isQuoted && letter === '"' && text[at + 1] === '"') cell += text[++at];
    else if (letter === '"') isQuoted = !isQuoted;
    else if (!isQuoted && letter === ",") [cell] = ["", rows.at(-1)?.push(cell)];
    else if (!isQuoted && letter === "\r" && text[at + 1] === "\n") {
      rows.at(-1)?.push(cell);
      [cell, at] = ["", at + 1];
      rows.push([]);
    } else cell += letter;
  }
  assert.equal(isQuoted, false, "a quote that does not end");
  assert.deepEqual(rows.pop(), [], "the last line does not end");
  return rows;
}

const NO_TRACKS: readonly never[] = [];
const path = [
  spotAt(48.13721234567, 11.5755),
  spotAt(48.1373, 11.5756),
  null,
  spotAt(48.1374, 11.5757, { speedMps: null }),
];

describe("GeoJSON", () => {
  test("has a feature for every track: a line, a point, or null", () => {
    const tracks = [trackOf(1, path), trackOf(2, [spotAt(-33.9, 18.4)]), trackOf(3, [null, null]), trackOf(4, [])];
    const features = readGeoJson(writeAll("geojson", tracks));
    assert.deepEqual(
      features.map(({ geometry }) => geometry),
      [
        {
          type: "LineString",
          coordinates: [
            [11.5755, 48.1372123, 519.2],
            [11.5756, 48.1373, 519.2],
            [11.5757, 48.1374, 519.2],
          ],
        },
        { type: "Point", coordinates: [18.4, -33.9, 519.2] },
        null,
        null,
      ],
    );
    assert.deepEqual(features[0]?.properties, {
      track_id: 1,
      class_id: 2,
      class_name: "car",
      first_seen: "2023-11-14T22:13:20.000Z",
      last_seen: "2023-11-14T22:13:25.000Z",
      is_live: false,
      sightings: 50,
      max_confidence: 90,
      mean_confidence: 75,
      min_confidence: 40,
      bbox_pixels: [10, 20.5, 30, 40],
      speed_mps: 3.5,
      heading: 90,
      position_error_m: 1.25,
      times: ["2023-11-14T22:13:20.000Z", "2023-11-14T22:13:21.000Z", "2023-11-14T22:13:23.000Z"],
    });
  });

  test("is valid without any track, and for any class name", () => {
    assert.deepEqual(readGeoJson(writeAll("geojson", NO_TRACKS)), []);
    const [feature] = readGeoJson(writeAll("geojson", [trackOf(1, path, { className: NASTY })], NASTY));
    assert.equal(feature?.properties.class_name, NASTY);
  });

  test("is cut where it crosses the date line, with a time for every position", () => {
    const crossed = trackOf(1, [spotAt(0, 179.5), spotAt(1, -179.5), spotAt(2, -179), spotAt(3, 180), spotAt(4, 179)]);
    const [feature] = readGeoJson(writeAll("geojson", [crossed]));
    assert.deepEqual(feature?.geometry?.coordinates, [
      [
        [179.5, 0, 519.2],
        [180, 0.5, 519.2],
      ],
      [
        [-180, 0.5, 519.2],
        [-179.5, 1, 519.2],
        [-179, 2, 519.2],
        [-180, 3, 519.2],
      ],
      [
        [180, 3, 519.2],
        [179, 4, 519.2],
      ],
    ]);
    const count = (value: unknown): number =>
      Array.isArray(value) ? value.reduce((sum, one) => sum + count(one), 0) : 1;
    assert.equal(count(feature?.properties.times), 8);
  });

  test("is valid for any path on earth", () => {
    const spot = fc.tuple(
      fc.double({ min: -90, max: 90, noNaN: true }),
      fc.double({ min: -180, max: 180, noNaN: true }),
    );
    fc.assert(
      fc.property(fc.array(fc.option(spot), { maxLength: 12 }), (spots) => {
        const track = trackOf(
          1,
          spots.map((at) => at && spotAt(...at)),
        );
        const [feature] = readGeoJson(writeAll("geojson", [track]));
        const known = spots.filter((at) => at !== null).length;
        assert.equal(feature?.geometry === null, known === 0);
        assert.equal(feature?.geometry?.type === "Point", known === 1);
      }),
    );
  });
});

describe("KML", () => {
  test("has a placemark for every geolocated track, in the colour of its class", () => {
    const tracks = [
      trackOf(1, path),
      trackOf(2, [spotAt(0.00000004, -0.0000002)], { classId: 0, className: "person" }),
      trackOf(3, [null]),
      trackOf(4, [spotAt(0, 179.5), spotAt(1, -179.5)], { classId: 16, className: NASTY }),
    ];
    const [file, empty] = readKml(writeAll("kml", tracks, NASTY), writeAll("kml", NO_TRACKS));
    assert.deepEqual(empty?.placemarks, []);
    assert.equal(file?.name, `Tracks of ${REPRESENTABLE}`);
    const [line, point, cut] = file?.placemarks ?? [];
    assert.deepEqual([line?.name, line?.colour, line?.lines[0]?.length], ["car 1", "ff739e00", 3]);
    assert.deepEqual(line?.data, {
      ...{ track_id: "1", class_id: "2", class_name: "car", sightings: "50" },
      ...{ max_confidence: "90", mean_confidence: "75", min_confidence: "40" },
      ...{ speed_mps: "3.5", heading: "90", position_error_m: "1.25" },
    });
    assert.deepEqual([point?.name, point?.points], ["person 2", [[[-2e-7, 0, 519.2]]]]);
    assert.equal(cut?.lines.length, 2);
    assert.equal(cut?.colour, line?.colour);
    assert.equal(file?.placemarks.length, 3);
  });
});

describe("CSV", () => {
  test("has a line for every point, with empty coordinates if there are none", () => {
    const text = writeAll("csv", [trackOf(1, path.slice(1, 3)), trackOf(2, [])]);
    const [head, ...rows] = readCsv(text);
    assert.equal(new Set([head, ...rows].map((row) => row?.length)).size, 1);
    assert.deepEqual(
      rows.map((row) => Object.fromEntries(row.map((cell, i) => [head?.[i], cell]).filter(([, cell]) => cell !== ""))),
      [
        {
          ...{ track_id: "1", class_id: "2", class_name: "car", time: "2023-11-14T22:13:20.000Z", confidence: "80" },
          ...{ latitude: "48.1373", longitude: "11.5756", altitude_m: "519.2", position_error_m: "1.25" },
          ...{ speed_mps: "3.5", heading: "90", bbox_x: "10", bbox_y: "20.5", bbox_width: "30", bbox_height: "40" },
        },
        {
          ...{ track_id: "1", class_id: "2", class_name: "car", time: "2023-11-14T22:13:21.000Z", confidence: "80" },
          ...{ bbox_x: "11", bbox_y: "20.5", bbox_width: "30", bbox_height: "40" },
        },
        // A track without points: the values of its summary.
        {
          ...{ track_id: "2", class_id: "2", class_name: "car", time: "2023-11-14T22:13:25.000Z", confidence: "75" },
          ...{ bbox_x: "10", bbox_y: "20.5", bbox_width: "30", bbox_height: "40" },
        },
      ],
    );
  });

  test("writes any class name into one cell that no spreadsheet interprets as a formula", () => {
    const formulas = [
      "=1+1",
      "+1",
      "-1",
      "@SUM(A1)",
      "\t=1",
      "\r=1",
      '=HYPERLINK("http://x";"y")',
      "plain",
      'a,"b"\r\nc',
    ];
    fc.assert(
      fc.property(fc.oneof(fc.constantFrom(...formulas), fc.string()), (className) => {
        const [, row] = readCsv(writeAll("csv", [trackOf(1, [null], { className })]));
        const cell = row?.[2] ?? "";
        assert.ok(!/^[=+\-@\t\r]/.test(cell), cell);
        assert.equal(cell.startsWith("'") && cell !== className ? cell.slice(1) : cell, className);
        assert.equal(row?.length, 15);
      }),
    );
    assert.equal(writeText("person"), "person");
  });
});

test("GeoJSON and KML contain the process UUID", () => {
  assert.ok(writeAll("geojson", NO_TRACKS).includes(PROCESS_UUID));
  assert.ok(writeAll("kml", NO_TRACKS).includes(PROCESS_UUID));
});
