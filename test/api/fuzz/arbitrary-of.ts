/** Values by a JSON Schema: those that fit, and those that nearly do. */
import fc, { type Arbitrary } from "fast-check";

type Schema = Readonly<Record<string, unknown>>;
type Follow = (schema: object) => object;

const MOST_DEPTH = 6;

/** What has broken programs before. */
export const ODD_TEXTS: readonly string[] = [
  "",
  " ",
  "\u0000",
  "../../../../etc/passwd",
  "..%2f..%2fetc%2fpasswd",
  "/dev/zero",
  "file:///etc/passwd",
  "rtsp://169.254.169.254/latest",
  "rtsp://user:pass@127.0.0.1:1/x",
  "'; drop table users; --",
  "$" + "{jndi:ldap://127.0.0.1/a}",
  "__proto__",
  "constructor",
  "\ud800",
  "\u202e\u0130\ufb01",
  "a".repeat(5_000),
  "💥".repeat(100),
  "NaN",
  "1e999",
  "-1",
  "true",
  "null",
  "[]",
  "00000000-0000-0000-0000-000000000000",
];

const oddText = fc.constantFrom(...ODD_TEXTS);
export const anyText: Arbitrary<string> = fc.oneof(fc.string({ unit: "binary", maxLength: 40 }), oddText);
export const anyJson: Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3, stringUnit: "binary" }),
  anyText,
  fc.constantFrom(null, true, -1, 0, 1e308, -0, 2 ** 53, 1.5, [], {}, [[[[[]]]]]),
);

/** Mostly what fits; `strays` is how often some part of it is anything at all. */
export function arbitraryOf(schema: object, follow: Follow, strays: number, depth = 0): Arbitrary<unknown> {
  const fitting = depth > MOST_DEPTH ? fc.constant(null) : fit(follow(schema) as Schema, follow, strays, depth + 1);
  if (strays === 0) return fitting;
  return fc.oneof({ weight: 100 - strays, arbitrary: fitting }, { weight: strays, arbitrary: anyJson });
}

function fit(schema: Schema, follow: Follow, strays: number, depth: number): Arbitrary<unknown> {
  const inner = (part: unknown): Arbitrary<unknown> => arbitraryOf(part as object, follow, strays, depth);
  if ("const" in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  const variants = (schema.anyOf ?? schema.oneOf) as readonly object[] | undefined;
  if (variants !== undefined) return fc.oneof(...variants.map(inner));
  const type = Array.isArray(schema.type) ? schema.type[depth % schema.type.length] : schema.type;
  switch (type) {
    case "string":
      return fitText(schema);
    case "integer":
      return fc.integer({ min: lowest(schema, -1000), max: highest(schema, 100_000) });
    case "number":
      return fc.double({ min: lowest(schema, -1e6), max: highest(schema, 1e6), noNaN: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(schema.items === undefined ? anyJson : inner(schema.items), { maxLength: 4 });
    case "object":
      return fitObject(schema, inner);
    default:
      return anyJson;
  }
}

const lowest = ({ minimum, exclusiveMinimum }: Schema, otherwise: number): number =>
  Math.max(Number(minimum ?? exclusiveMinimum ?? otherwise), -(2 ** 31));
const highest = ({ maximum, exclusiveMaximum }: Schema, otherwise: number): number =>
  Math.min(Number(maximum ?? exclusiveMaximum ?? otherwise), 2 ** 31 - 1);

function fitText({ pattern, minLength, maxLength, format }: Schema): Arbitrary<string> {
  if (format === "date-time") return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (typeof pattern === "string") return fc.stringMatching(new RegExp(pattern), { size: "small" });
  const least = Number(minLength ?? 0);
  return fc.string({ minLength: least, maxLength: Math.max(least, Math.min(Number(maxLength ?? 40), 40)) });
}

function fitObject(schema: Schema, inner: (part: unknown) => Arbitrary<unknown>): Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, unknown>);
  const required = (schema.required ?? []) as readonly string[];
  const own = fc.record(Object.fromEntries(properties.map(([name, part]) => [name, inner(part)])), {
    requiredKeys: properties.map(([name]) => name).filter((name) => required.includes(name)),
  });
  const patterns = Object.values((schema.patternProperties ?? {}) as Record<string, unknown>);
  const others = patterns[0] ?? (typeof schema.additionalProperties === "object" ? schema.additionalProperties : null);
  if (others === null || others === undefined) return own;
  const more = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), inner(others), { maxKeys: 3 });
  return fc.tuple(own, more).map(([a, b]) => ({ ...b, ...a }));
}
