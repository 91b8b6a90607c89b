/** Random requests generated from the OpenAPI document: valid ones, nearly valid ones and nonsense. */
import fc, { type Arbitrary } from "fast-check";
import { anyCharacter } from "../any-character.fixture.ts";
import type { ApiContract, Operation } from "./api-contract.ts";

export interface FuzzRequest {
  readonly operation: Operation;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface FuzzWorld {
  readonly contract: ApiContract;
  readonly key: string;
  /** Of existing and missing resources. */
  readonly uuids: readonly string[];
  /** Names of graphs and elements. */
  readonly names: readonly string[];
}

const STRAYS = 8;

export function requestsOf(operation: Operation, world: FuzzWorld): Arbitrary<FuzzRequest> {
  const { contract } = world;
  const follow = (schema: object) => contract.follow(schema);
  const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
  const inQuery = (operation.parameters ?? []).filter((parameter) => parameter.in === "query");
  const path = fc
    .tuple(...inPath.map(({ name, schema }) => pathValue(name, arbitraryOf(schema, follow, 0), world)))
    .map((values) => {
      let index = 0;
      return operation.path.replace(/\{[^}]+\}/g, () => encodeURIComponent(values[index++] ?? "x"));
    });
  const query = fc
    .record(Object.fromEntries(inQuery.map(({ name, schema }) => [name, queryValue(name, schema, follow, world)])), {
      requiredKeys: inQuery.filter(({ required }) => required).map(({ name }) => name),
    })
    .map((values) =>
      new URLSearchParams(
        Object.entries(values).map(([name, value]): [string, string] => [name, toText(value)]),
      ).toString(),
    );
  return fc
    .record({ path, query, body: bodyOf(operation, world), key: keyOf(world.key) })
    .map(({ path: where, query: search, body, key }) => ({
      operation,
      method: operation.method,
      path: search === "" ? where : `${where}?${search}`,
      headers: { ...(key !== null && { api_key: key }), ...(body?.type && { "content-type": body.type }) },
      body: body?.text ?? null,
    }));
}

/** A request with one parameter, or one field of its body, that the operation does not have. */
export interface UnknownName {
  readonly request: FuzzRequest;
  /** As faults name it. */
  readonly path: string;
}

/** Misspelt names of the operation, and names that resemble none. */
export function unknownNamesOf(operation: Operation, world: FuzzWorld): Arbitrary<UnknownName> {
  const { contract, uuids, key } = world;
  const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
  const path = fc
    // Parts of paths that are neither ids nor names have a pattern, which their example fits.
    .tuple(
      ...inPath.map(({ name, example = null }) =>
        fc.constantFrom(
          ...(name === "name" ? world.names : name.endsWith("uuid") || example === null ? uuids : [example]),
        ),
      ),
    )
    .map((values) => {
      let index = 0;
      return operation.path.replace(/\{[^}]+\}/g, () => values[index++] ?? "x");
    });
  const schema = operation.requestBody?.content["application/json"]?.schema;
  const fields = schema === undefined ? null : (contract.follow(schema) as Schema).properties;
  const parameters = (operation.parameters ?? []).flatMap(({ name, in: where }) => (where === "query" ? [name] : []));
  const inQuery = unknownAmong(parameters).map((name) => ({ name, isField: false }));
  const inBody = unknownAmong(Object.keys(fields ?? {})).map((name) => ({ name, isField: true }));
  return fc
    .record({
      path,
      unknown: fields ? fc.oneof(inQuery, inBody) : inQuery,
      value: fc.constantFrom(null, true, 1, "x", [], {}),
    })
    .map(({ path: where, unknown: { name, isField }, value }) => ({
      path: isField ? `/${name}` : name,
      request: {
        ...{ operation, method: operation.method },
        path: isField ? where : `${where}?${name}=${encodeURIComponent(toText(value))}`,
        headers: { api_key: key, ...(schema !== undefined && { "content-type": "application/json" }) },
        body: schema === undefined ? null : JSON.stringify(isField ? { [name]: value } : {}),
      },
    }));
}

const unknownAmong = (known: readonly string[]): Arbitrary<string> =>
  fc
    .oneof(fc.constantFrom("colour", "x-own", "Limit"), ...known.map((name) => fc.constantFrom(`${name}s`, `_${name}`)))
    .filter((name) => !known.includes(name));

/** Replaces lone surrogates, which a URL cannot contain. */
const sound = (text: string): string => Buffer.from(text).toString();

const pathValue = (name: string, fitting: Arbitrary<unknown>, { uuids, names }: FuzzWorld): Arbitrary<string> =>
  fc
    .oneof(
      { weight: 6, arbitrary: fc.constantFrom(...(name === "name" ? names : uuids)) },
      { weight: 3, arbitrary: fitting.map(toText) },
      { weight: 2, arbitrary: anyText },
    )
    // An empty segment, or dots alone, would change the path.
    .map((text) => (/^\.*$/.test(text) ? "x" : sound(text)));

const queryValue = (name: string, schema: object, follow: (schema: object) => object, { uuids }: FuzzWorld) =>
  fc.oneof(
    { weight: 6, arbitrary: name.endsWith("uuid") ? fc.constantFrom(...uuids) : arbitraryOf(schema, follow, 0) },
    { weight: 2, arbitrary: anyText },
  );

const toText = (value: unknown): string => sound(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

const keyOf = (key: string): Arbitrary<string | null> =>
  fc.oneof(
    { weight: 40, arbitrary: fc.constant(key) },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.stringMatching(/^[\x21-\x7e]{1,80}$/) },
  );

interface Body {
  readonly type: string;
  readonly text: string;
}

function bodyOf({ requestBody, method }: Operation, { contract }: FuzzWorld): Arbitrary<Body | null> {
  if (method === "GET") return fc.constant(null);
  const stray = fc.record({
    type: fc.constantFrom("application/json", "text/plain", "application/xml", "multipart/form-data; boundary=x", ""),
    text: fc.oneof(
      anyText.map(sound),
      anyJson.map((value) => JSON.stringify(value) ?? ""),
      fc.constant('{"a":'),
    ),
  });
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (type === undefined) return fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: stray });
  const fitting = arbitraryOf(media?.schema ?? {}, (schema) => contract.follow(schema), STRAYS).map((value) => ({
    type,
    text: type === "application/json" ? (JSON.stringify(value) ?? "") : toText(value),
  }));
  return fc.oneof(
    { weight: 10, arbitrary: fitting },
    { weight: 2, arbitrary: stray },
    { weight: 1, arbitrary: fc.constant(null) },
  );
}

type Schema = Readonly<Record<string, unknown>>;
type Follow = (schema: object) => object;

const MAX_DEPTH = 6;

/** Texts that are known to break programs. */
const ODD_TEXTS: readonly string[] = [
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
const anyText: Arbitrary<string> = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 40 }), oddText);
const anyJson: Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3, stringUnit: anyCharacter }),
  anyText,
  fc.constantFrom(null, true, -1, 0, 1e308, -0, 2 ** 53, 1.5, [], {}, [[[[[]]]]]),
);

/** Values of a JSON Schema. `strays`: percentage of parts that are replaced by arbitrary JSON. */
function arbitraryOf(schema: object, follow: Follow, strays: number, depth = 0): Arbitrary<unknown> {
  const fitting = depth > MAX_DEPTH ? fc.constant(null) : fit(follow(schema) as Schema, follow, strays, depth + 1);
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
