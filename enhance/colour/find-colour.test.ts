import assert from "node:assert/strict";
import { test } from "node:test";
import { type Painting, paintCar } from "../painted-car.fixture.ts";
import type { Picture } from "../picture.ts";
import { findColour, LOWER_BODY, OBJECT, UPPER_BODY, VEHICLE } from "./find-colour.ts";
import { COLOUR_NAMES, type ColourName } from "./names.ts";

const PAINTS: Readonly<Record<ColourName, Painting["paint"]>> = {
  black: [16, 16, 18],
  grey: [92, 93, 96],
  silver: [170, 172, 175],
  white: [240, 240, 238],
  red: [178, 22, 30],
  orange: [228, 110, 24],
  yellow: [240, 200, 30],
  beige: [208, 192, 160],
  brown: [94, 62, 42],
  green: [28, 110, 52],
  turquoise: [48, 164, 164],
  blue: [30, 58, 146],
  purple: [96, 46, 126],
  pink: [234, 120, 164],
};

const nameOf = (painting: Painting): string | null => findColour(paintCar(painting), VEHICLE)?.name ?? null;

test("finds the paint of a car, not its glass, tyres or road", () => {
  const found = COLOUR_NAMES.map((name) => [name, nameOf({ paint: PAINTS[name] })]);
  assert.deepEqual(
    found,
    COLOUR_NAMES.map((name) => [name, name]),
  );
});

test("finds the same colour in deep shade, on another road and in a small image", () => {
  const names = COLOUR_NAMES.filter((name) => name !== "grey" && name !== "silver");
  const found = names.map((name) => nameOf({ paint: PAINTS[name], shade: 0.35, road: [84, 80, 74], width: 70 }));
  assert.deepEqual(found, names);
});

test("distinguishes a grey car from a road of another grey", () => {
  assert.equal(nameOf({ paint: PAINTS.white, road: [96, 95, 94], sky: [120, 122, 126] }), "white");
  assert.equal(nameOf({ paint: PAINTS.black, road: [150, 149, 147] }), "black");
});

/** Rows of a picture in colours, top to bottom, before a wall. */
function paintRows(rows: readonly Painting["paint"][], from: number, to: number): Picture {
  const [width, height] = [40, 100];
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0, place = 0; y < height; y++)
    for (let x = 0; x < width; x++, place += 3) {
      const isInside = x >= from && x < to && y >= 6 && y < 96;
      const row = rows[Math.floor(((y - 6) / 90) * rows.length)];
      rgb.set(isInside && row !== undefined ? row : [150, 140, 120], place);
    }
  return { width, height, rgb };
}

test("distinguishes upper and lower clothes", () => {
  const person = paintRows([[120, 90, 70], PAINTS.red, PAINTS.red, [36, 52, 84], [36, 52, 84], [36, 52, 84]], 10, 30);
  assert.equal(findColour(person, UPPER_BODY)?.name, "red");
  assert.equal(findColour(person, LOWER_BODY)?.name, "blue");
});

test("returns null for two equally strong colours and for tiny images", () => {
  const flag = paintRows([PAINTS.red, PAINTS.green, PAINTS.red, PAINTS.green, PAINTS.red, PAINTS.green], 4, 36);
  assert.equal(findColour(flag, OBJECT), null);
  assert.equal(findColour({ width: 4, height: 4, rgb: new Uint8Array(48) }, OBJECT), null);
});
