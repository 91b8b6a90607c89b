/** Requests by the API's own document: right ones, nearly right ones and nonsense. */
import fc, { type Arbitrary } from "fast-check";
import type { Answers, Operation } from "../answers.ts";
import { anyJson, anyText, arbitraryOf } from "./arbitrary-of.ts";

export interface FuzzRequest {
  readonly operation: Operation;
  readonly method: string;
  /** Where it goes, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface FuzzWorld {
  readonly answers: Answers;
  readonly key: string;
  /** Of things that exist, and some that do not. */
  readonly uuids: readonly string[];
  /** Of graphs and elements. */
  readonly names: readonly string[];
}

const STRAYS = 8;

export function requestsOf(operation: Operation, world: FuzzWorld): Arbitrary<FuzzRequest> {
  const { answers } = world;
  const follow = (schema: object) => answers.follow(schema);
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

/** A lone half of a surrogate pair is no text that a URL can hold. */
const sound = (text: string): string => Buffer.from(text).toString();

const pathValue = (name: string, fitting: Arbitrary<unknown>, { uuids, names }: FuzzWorld): Arbitrary<string> =>
  fc
    .oneof(
      { weight: 6, arbitrary: fc.constantFrom(...(name === "name" ? names : uuids)) },
      { weight: 3, arbitrary: fitting.map(toText) },
      { weight: 2, arbitrary: anyText },
    )
    // An empty word, or dots alone, make another path of it.
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

function bodyOf({ requestBody, method }: Operation, { answers }: FuzzWorld): Arbitrary<Body | null> {
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
  const fitting = arbitraryOf(media?.schema ?? {}, (schema) => answers.follow(schema), STRAYS).map((value) => ({
    type,
    text: type === "application/json" ? (JSON.stringify(value) ?? "") : toText(value),
  }));
  return fc.oneof(
    { weight: 10, arbitrary: fitting },
    { weight: 2, arbitrary: stray },
    { weight: 1, arbitrary: fc.constant(null) },
  );
}
