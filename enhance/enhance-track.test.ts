import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { encode } from "jpeg-js";
import { EnhancedData } from "../schemas/enhancement.ts";
import { enhanceTrack } from "./enhance-track.ts";
import { paintCar, toPatch } from "./painted-car.fixture.ts";

const isData = new Ajv2020({ strict: false }).compile(EnhancedData);
const blue = toPatch(paintCar({ paint: [30, 58, 146], width: 120 }));
const calls: string[] = [];
const readers = {
  readPlate: async () => {
    calls.push("plate");
    return { text: "AB123CD", confidence: 99 };
  },
};

const enhance = async (className: string, jpeg: string | null, using = {}) => {
  const data = await enhanceTrack({ id: 1, className, jpeg }, using);
  assert.ok(isData(data), JSON.stringify(isData.errors));
  return data;
};

test("gives a vehicle its type by class, a colour and a plate", async () => {
  const { colour, ...rest } = await enhance("car", blue);
  assert.equal(colour?.name, "blue");
  assert.deepEqual(rest, { vehicle_type: "car", plate: null, attributes: {} });
  const seen = await enhance("car", blue, readers);
  assert.deepEqual([seen.vehicle_type, seen.plate?.text], ["car", "AB123CD"]);
  assert.equal((await enhance("Motorbike", null)).vehicle_type, "motorcycle");
});

test("reads plates of plated vehicles only", async () => {
  calls.length = 0;
  for (const className of ["boat", "train", "bicycle", "person", "dog"]) await enhance(className, blue, readers);
  assert.deepEqual(calls, []);
});

test("describes the clothes of standing people, and flying objects against the sky", async () => {
  const lying = await enhance("person", blue);
  assert.deepEqual(lying.attributes, { upper_colour: null, lower_colour: null });
  const [width, height] = [60, 30];
  const data = new Uint8Array(width * height * 4).fill(200);
  for (let y = 13; y < 17; y++)
    for (let x = 10; x < 50; x++) data.fill(30, (y * width + x) * 4, (y * width + x) * 4 + 3);
  const jpeg = encode({ width, height, data }, 90).data.toString("base64");
  const flying = await enhance("airplane", jpeg);
  assert.deepEqual(flying.attributes, { against_sky: true, apparent_shape: "wide", contrast: "darker" });
  assert.equal(flying.vehicle_type, "aeroplane");
  const registered = await enhance("airplane", jpeg, readers);
  assert.deepEqual([registered.plate, registered.attributes.registration], [null, { text: "AB123CD", confidence: 99 }]);
  assert.equal((await enhance("bird", jpeg)).vehicle_type, null);
});

for (const [what, jpeg] of [
  ["no image", null],
  ["another file format", Buffer.from("this is none").toString("base64")],
  ["a truncated JPEG", blue.slice(0, 400)],
  ["a JPEG with a declared size of 65,535 pixels", tamper(blue)],
] as const)
  test(`derives nothing but the vehicle type from ${what}`, async () => {
    const data = await enhance("truck", jpeg, readers);
    assert.deepEqual(data, { vehicle_type: "truck", colour: null, plate: null, attributes: {} });
  });

/** The size in the frame's header. */
function tamper(jpeg: string): string {
  const bytes = Buffer.from(jpeg, "base64");
  const frame = bytes.indexOf(Buffer.from([0xff, 0xc0]));
  bytes.fill(0xff, frame + 5, frame + 9);
  return bytes.toString("base64");
}
