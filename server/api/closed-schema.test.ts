import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { orNull, when } from "../../schemas/api/records.ts";
import { checkBy } from "../validation.ts";
import { closeSchema } from "./closed-schema.ts";

const Zone = Type.Object({ name: Type.String() });
const check = checkBy(
  closeSchema(
    Type.Object(
      {
        kind: Type.String(),
        zones: Type.Optional(Type.Array(Zone)),
        zone: Type.Optional(orNull(Zone)),
        free: Type.Optional(Type.Object({})),
        open: Type.Optional(Type.Object({ a: Type.Number() }, { additionalProperties: true })),
        named: Type.Optional(Type.Record(Type.String(), Zone)),
        settings: Type.Optional(Type.Unknown()),
      },
      { allOf: [when("kind", ["round"], Type.Object({ settings: Type.Object({ radius: Type.Number() }) }))] },
    ),
  ),
);
const pathsOf = (value: unknown) => check(value).map(({ path }) => path);

test("unknown fields are faults at any depth", () => {
  assert.deepEqual(pathsOf({ kind: "x", colour: 1 }), ["/colour"]);
  assert.deepEqual(pathsOf({ kind: "x", zones: [{ name: "a" }, { name: "b", nmae: "c" }] }), ["/zones/1/nmae"]);
  assert.deepEqual(pathsOf({ kind: "x", zone: { name: "a", nmae: "b" } }), ["/zone/nmae"]);
  assert.deepEqual(pathsOf({ kind: "x", named: { any: { name: "a", more: 1 } } }), ["/named/any/more"]);
  assert.deepEqual(pathsOf({ kind: "round", settings: { radius: 1, raduis: 2 } }), ["/settings/raduis"]);
});

test("the fault names the field that was probably meant", () => {
  const [fault] = check({ kind: "x", zoens: [] });
  assert.match(fault?.message ?? "", /did you mean "zones"\?/);
});

test("what is open stays open", () => {
  const value = {
    kind: "square",
    free: { a: 1 },
    open: { a: 1, b: 2 },
    named: { any: { name: "a" } },
    settings: { b: 1 },
  };
  assert.deepEqual(pathsOf(value), []);
});
