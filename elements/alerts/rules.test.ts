import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { checkSchema } from "../../graphs/compiler/schema-check.ts";
import { AlertRule, CONFIGURATION_FIELDS } from "../../schemas/alerts.ts";
import { checkConfiguration } from "../../schemas/check-alert.ts";
import { faultsOf, ruleOf } from "./scene.fixture.ts";
import { ALERT_TYPES, checkRule } from "./types.ts";

/** Schemas are held to the meta-schema by `checkSchema`. */
const ajv = new Ajv2020({ strict: false, validateSchema: false });

const polygonOf = (polygon: unknown, type = "image") =>
  faultsOf("grid-density", { region: { type, polygon } }).join("\n");

describe("a polygon", () => {
  for (const [words, points, type, fault] of [
    ["of two points", [[0, 0], [1, 1]], "image", /^\/region\/polygon is a list of 2; expected a list of 3 to 100$/],
    ["of two points, the first one again at the end", [[0, 0], [1, 1], [0, 0]], "image", /fewer than three different points/],
    ["of points in one line", [[0, 0], [0.5, 0.5], [1, 1]], "image", /has no area/],
    ["of the same point over and over", [[0, 0], [0, 0], [0, 0], [0, 0]], "image", /has no area/],
    ["that crosses itself", [[0, 0], [1, 1], [1, 0], [0, 1.0]], "image", /has no area|crosses or touches itself/],
    ["like a bow tie with unlike halves", [[0, 0], [1, 0.8], [1, 0], [0, 1]], "image", /crosses or touches itself: the edge from point 0 to 1 meets that from 2 to 3/],
    ["that touches itself in a corner", [[0, 0], [0.5, 0.5], [1, 0], [1, 1], [0.5, 0.5], [0, 1]], "image", /crosses or touches itself/],
    ["with a spike", [[0, 0], [1, 0], [0.5, 0], [0.5, 1]], "image", /crosses or touches itself/],
    ["with the same point twice", [[0, 0], [1, 0], [1, 0], [1, 1]], "image", /crosses or touches itself/],
    ["in pixels", [[0, 0], [1920, 0], [1920, 1080]], "image", /^\/region\/polygon\/1 is \[1920, 0\]; expected \[x, y\] in fractions of the frame, both from 0 to 1\n\/region\/polygon\/2/],
    ["left of the picture", [[-0.1, 0], [1, 0], [1, 1]], "image", /^\/region\/polygon\/0 is \[-0.1, 0\]/],
    ["with a point of three", [[0, 0, 0], [1, 0], [1, 1]], "image", /^\/region\/polygon\/0 is a list of 3; expected a list of 2/],
    ["with a point of words", [["0", 0], [1, 0], [1, 1]], "image", /^\/region\/polygon\/0\/0 is "0"; expected a number/],
    ["beyond the pole", [[0, 0], [1, 91], [1, 1]], "geo", /^\/region\/polygon\/1 is \[1, 91\]; expected \[longitude, latitude\]/],
    ["around a pole", [[0, 80], [90, 80], [180, 80], [-90, 80]], "geo", /has no area|goes around a pole/],
    ["around a pole, slanting", [[0, 80], [90, 81], [180, 80], [-90, 79]], "geo", /goes around a pole/],
    ["that is missing", undefined, "geo", /^\/region\/polygon is missing/],
    ["that is a word", "everywhere", "image", /^\/region\/polygon is "everywhere"; expected a list/],
    ["on another planet", [[0, 0], [1, 0], [1, 1]], "mars", /^\/region\/type is "mars"; expected "image" or "geo"/],
  ] as const) // biome-ignore format: a table
    test(`${words} is rejected`, () => assert.match(polygonOf(points, type), fault));

  for (const [words, points, type] of [
    ["of the whole picture", [[0, 0], [1, 0], [1, 1], [0, 1]], "image"],
    ["the other way around", [[0, 1], [1, 1], [1, 0], [0, 0]], "image"],
    ["with the first point again at the end, as in GeoJSON", [[0, 0], [1, 0], [1, 1], [0, 0]], "image"],
    ["with a point within an edge", [[0, 0], [0.5, 0], [1, 0], [1, 1]], "image"],
    ["across the date line", [[179, -1], [-179, -1], [-179, 1], [179, 1]], "geo"],
  ] as const) // biome-ignore format: a table
    test(`${words} is accepted`, () => assert.equal(polygonOf(points, type), ""));

  test("of too many points is rejected", () => {
    const circle = Array.from({ length: 101 }, (_, i) => [0.5 + Math.cos(i / 16.1) / 2, 0.5 + Math.sin(i / 16.1) / 2]);
    assert.match(polygonOf(circle), /is a list of 101; expected a list of 3 to 100/);
    assert.equal(polygonOf(circle.slice(0, 100)), "");
  });
});

describe("a configuration", () => {
  for (const [words, type, parts, fault] of [
    ["a cooldown of -1", "grid-density", { trigger: { cooldown_seconds: -1 } }, /^\/trigger\/cooldown_seconds is -1; expected a number from 0 to 86400$/],
    ["a count of 0", "grid-density", { trigger: { count: 0 } }, /^\/trigger\/count is 0; expected a whole number from 1 to 1000$/],
    ["half a row", "grid-density", { parameters: { rows: 1.5 } }, /^\/parameters\/rows is 1.5; expected a whole number from 1 to 50$/],
    ["a misspelt name", "grid-density", { trigger: { for_second: 3 } }, /^\/trigger\/for_second is not known here; .*did you mean "for_seconds"\?$/],
    ["a misspelt name in a filter", "filter-search", { filter: { class_name: ["car"] } }, /did you mean "class_names"\?$/],
    ["areas in the wrong order", "filter-search", { filter: { min_area: 0.5, max_area: 0.1 } }, /^\/filter\/min_area is 0.5; expected no more than max_area, which is 0.1$/],
    ["speeds in the wrong order", "filter-search", { filter: { min_speed_mps: 5, max_speed_mps: 1 } }, /^\/filter\/min_speed_mps is 5/],
    ["an area of 120 percent", "filter-search", { filter: { max_area: 1.2 } }, /from 0 to 1$/],
    ["a number without end", "filter-search", { trigger: { for_seconds: Number.POSITIVE_INFINITY } }, /is too large a number/],
    ["parameters of a type that has none", "filter-search", { parameters: { rows: 2 } }, /^\/parameters\/rows is not known here; none are$/],
    ["a trigger that is a list", "flow-control", { trigger: [] as never, region: { line: [[0, 0], [1, 1]] } }, /^\/trigger is an empty list; expected an object$/],
    ["an unknown part", "flow-control", { regions: {} } as never, /^\/regions is not known here; .*did you mean "region"\?$/],
    ["an unknown type", "grid-densty", {}, /^\/type "grid-densty" is not an alert type; expected grid-density, flow-control, .*; did you mean "grid-density"\?$/],
  ] as const) // biome-ignore format: a table
    test(`with ${words} is rejected with the expected value`, () =>
      assert.match(faultsOf(type, parts).join("\n"), fault));

  test("reports all faults at once", () => {
    const faults = faultsOf("grid-density", {
      trigger: { count: -1, cooldown_seconds: -1 },
      filter: { min_confidence: 7 },
      parameters: { row: 1 },
    });
    assert.equal(faults.length, 4);
  });

  test("is checked against the known classes, if given", () => {
    const rule = ruleOf("filter-search", { filter: { class_names: ["person", "vehicel"] } });
    assert.equal(checkRule(rule).faults, undefined);
    assert.deepEqual(checkRule(rule, ["person", "vehicle"]).faults, [
      {
        path: "/filter/class_names/1",
        message: '"vehicel" is not a class of an installed model; expected person or vehicle; did you mean "vehicle"?',
      },
    ]);
  });

  test("gets its defaults filled in without changing the input", () => {
    const rule = Object.freeze(ruleOf("grid-density", { trigger: Object.freeze({ count: 7 }) }));
    assert.deepEqual(checkRule(rule).configuration, {
      trigger: { count: 7, for_seconds: 3, cooldown_seconds: 10 },
      region: { type: "image" },
      filter: { min_confidence: 0, min_track_age_seconds: 0 },
      parameters: { rows: 4, columns: 4 },
    });
  });
});

for (const type of ALERT_TYPES)
  describe(`the type ${type.name}`, () => {
    test("describes itself and each of its fields", () => {
      assert.match(type.about, /^[A-Z].*\.$/);
      for (const field of CONFIGURATION_FIELDS) {
        const schema = type.schemas[field] as unknown as {
          description?: string;
          properties: Record<string, { description?: string }>;
        };
        assert.deepEqual(checkSchema(schema as never), []);
        assert.ok(schema.description, field);
        for (const [name, { description }] of Object.entries(schema.properties))
          assert.ok(description, `${field}.${name}`);
      }
    });

    test("has a valid example, also by its published schemas alone", () => {
      const { alias, output, ...rest } = type.example;
      assert.ok(typeof alias === "string" && Array.isArray(output));
      assert.ok(ajv.compile(AlertRule)({ ...rest, alert: "example" }));
      const { type: name, ...configuration } = rest;
      assert.equal(name, type.name);
      assert.deepEqual(checkConfiguration(type, configuration, ["person", "car", "truck", "bus"]).faults, undefined);
      for (const field of CONFIGURATION_FIELDS)
        if (field in configuration) assert.ok(ajv.compile(type.schemas[field])(configuration[field]));
    });
  });
