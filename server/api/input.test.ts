import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Type } from "typebox";
import { Uuid } from "../../schemas/api/records.ts";
import { newUuid } from "../uuid.ts";
import { define, openApp, SHAPE } from "./app.fixture.ts";
import { findUnsound, hasTooManyValues, MAX_VALUES } from "./input.ts";

const Telemetry = Type.Union([
  Type.Object({ type: Type.Literal("mqtt"), port: Type.Integer({ minimum: 1, maximum: 65535 }) }),
  Type.Object({ type: Type.Literal("static"), parameters: Type.Object({ altitude: Type.Number() }) }),
]);

const app = await openApp(
  [
    define("POST", "/things", "makeThing", {
      ...SHAPE,
      query: Type.Object({
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
        all: Type.Optional(Type.Boolean()),
        state: Type.Optional(Type.Union([Type.Literal("all"), Type.Literal("active")])),
        uuid: Type.Optional(Uuid),
        tags: Type.Optional(Type.Array(Type.Integer())),
        kind: Type.Optional(Type.String({ default: "plain" })),
        alert: Type.Optional(Uuid),
      }),
      body: Type.Object({
        alias: Type.String({ minLength: 1, maxLength: 8 }),
        share: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
        telemetry: Type.Optional(Telemetry),
        free: Type.Optional(Type.Unknown()),
        uuids: Type.Optional(Type.Array(Type.Union([Uuid, Type.Null()]))),
        strict: Type.Optional(Type.Object({ rows: Type.Optional(Type.Integer()) }, { additionalProperties: false })),
      }),
      handle: ({ query, body }) => ({ status: 200, body: { query, body } }),
    }),
    define("POST", "/start", "startThing", {
      ...SHAPE,
      body: Type.Object({ params: Type.Optional(Type.Object({})) }),
      isBodyOptional: true,
      handle: ({ body }) => ({ status: 200, body: { body } }),
    }),
    define("POST", "/bare", "bareThing", {
      ...SHAPE,
      handle: () => ({ status: 200, body: {} }),
    }),
  ],
  { settings: { HTTP_BODY_BYTES: "4096" } },
);
after(() => app.close(0));

interface Answered {
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly { readonly path: string }[];
  readonly query: object;
  readonly body: object;
}

const post = async (path: string, body: string | Uint8Array, type: string | null = "application/json") => {
  const headers: Record<string, string> = type === null ? {} : { "content-type": type };
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const response = await app.call(path, { method: "POST", body: bytes, headers });
  return { status: response.status, body: (await response.json()) as Answered };
};

const deep = (depth: number): string => `{"alias":"a","free":${"[".repeat(depth)}${"]".repeat(depth)}}`;

for (const [name, body, faults] of [
  ["several faults", '{"alias":"","share":"x"}', ["/alias", "/share"]],
  ["a missing field", "{}", ["/alias"]],
  ["an array", "[1]", [""]],
  ["null", "null", [""]],
  ["a string that is too long", '{"alias":"123456789"}', ["/alias"]],
  ["a fault in a known variant", '{"alias":"a","telemetry":{"type":"mqtt","port":0}}', ["/telemetry/port"]],
  ["an unknown variant", '{"alias":"a","telemetry":{"type":"radio"}}', ["/telemetry"]],
  ["an unknown key in a strict object", '{"alias":"a","strict":{"rwos":1}}', ["/strict/rwos"]],
  ["a NUL character", '{"alias":"a\\u0000"}', ["/alias"]],
  ["half a surrogate pair", '{"alias":"a","free":{"x":["\\ud800"]}}', ["/free/x/0"]],
  ["a key with a NUL character", '{"alias":"a","free":{"\\u0000":1}}', ["/free"]],
  ["a number beyond all", '{"alias":"a","free":1e999}', ["/free"]],
  ["endless nesting", deep(200), [`/free${"/0".repeat(63)}`]],
] as const)
  test(`rejects a body with ${name}`, async () => {
    const { status, body: problem } = await post("/things", body);
    assert.equal(status, 422, JSON.stringify(problem));
    assert.equal(problem.code, "invalid_input");
    assert.deepEqual(
      problem.errors.map(({ path }) => path),
      faults,
    );
  });

for (const [query, fault] of [
  ["limit=0", "limit is 0; expected a whole number from 1 to 10."],
  ["limit=1.5", "limit is 1.5; expected a whole number from 1 to 10."],
  ["limit=ten", 'limit is "ten"; expected a whole number from 1 to 10.'],
  ["limit=", 'limit is ""; expected a whole number from 1 to 10.'],
  ["limit=0x5", 'limit is "0x5"; expected a whole number from 1 to 10.'],
  ["limit=1&limit=2", "limit is given 2 times; expected once."],
  ["all=yes", 'all is "yes"; expected true or false.'],
  ["state=some", 'state is "some"; expected "all" or "active".'],
  ["uuid=7", 'uuid is "7"; expected a UUID.'],
  ["kind=a%00b", "kind contains a NUL character."],
] as const)
  test(`?${query} is rejected with an explanation`, async () => {
    const { status, body } = await post(`/things?${query}`, '{"alias":"a"}');
    assert.equal(status, 422);
    assert.equal(body.detail, fault);
  });

test("converts a query to the types of its schema, with defaults", async () => {
  const { body } = await post("/things?limit=5&all=true&tags=1&tags=2", '{"alias":"a"}');
  assert.deepEqual(body.query, { limit: 5, all: true, tags: [1, 2], kind: "plain" });
  assert.deepEqual(body.body, { alias: "a" });
});

test("rejects unknown parameters and fields, with the names that were probably meant", async () => {
  const { status, body } = await post(
    "/things?limits=5&what%00=1&what%00=2",
    '{"alias":"a","what":"ever","alais":"b"}',
  );
  assert.equal(status, 422);
  const [limits, what, ...fields] = (body as unknown as { errors: { path: string; message: string }[] }).errors;
  assert.deepEqual([limits?.path, what?.path], ["limits", "what\\u0000"]);
  assert.match(limits?.message ?? "", /^is not a parameter of this operation; expected .*did you mean "limit"\?$/);
  assert.deepEqual(
    fields.map(({ path }) => path),
    ["/what", "/alais"],
  );
  assert.match(fields[1]?.message ?? "", /did you mean "alias"\?$/);
});

test("suggests a filter by its name without `_uuid`", async () => {
  const { body } = await post("/things?alert_uuid=7", '{"alias":"a"}');
  assert.match(body.detail, /^alert_uuid is not a parameter .*; did you mean "alert"\?$/);
});

test("says where a field belongs that is a query parameter or may be a param", async () => {
  const { status, body } = await post("/things", '{"alias":"a","limit":5,"strict":{"limit":5}}');
  const [limit, inner] = (body as unknown as { errors: { path: string; message: string }[] }).errors;
  assert.equal(status, 422);
  assert.deepEqual(limit, {
    path: "/limit",
    message: "is a query parameter, not a field of the body: POST /things?limit=…",
  });
  assert.match(inner?.message ?? "", /^is not known here; rows is/);
  const { body: started } = await post("/start", '{"classes":["person"]}');
  assert.equal(started.detail, '/classes is not known here; params is; set params of the graph within "params".');
  const { body: misspelt } = await post("/start", '{"parms":{}}');
  assert.match(misspelt.detail, /did you mean "params"\?$/);
});

test("accepts upper-case UUIDs in the query and in the body", async () => {
  const uuid = newUuid();
  const capitals = uuid.toUpperCase();
  const sent = JSON.stringify({ alias: "AB", free: capitals, uuids: [capitals, null] });
  const { body } = await post(`/things?uuid=${capitals}`, sent);
  assert.deepEqual(body.query, { uuid, kind: "plain" });
  assert.deepEqual(body.body, { alias: "AB", free: capitals, uuids: [uuid, null] });
  assert.equal((await post(`/things?uuid=X${capitals}`, sent)).body.detail, `uuid is "X${capitals}"; expected a UUID.`);
});

test("reports faults of query and body together", async () => {
  const { body } = await post("/things?limit=x", "{}");
  assert.deepEqual(
    body.errors.map(({ path }) => path),
    ["limit", "/alias"],
  );
});

test("does not return a password of a rejected value", async () => {
  const { body } = await post("/things", '{"alias":"rtsp://ada:swordfish@cam/"}');
  assert.doesNotMatch(JSON.stringify(body), /swordfish/);
});

for (const [name, body] of [
  ["a half object", '{"alias":'],
  ["an empty body", ""],
  ["form data", "alias=a"],
  ["invalid UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
] as const)
  test(`${name} is not valid JSON: 400`, async () => {
    const { status, body: problem } = await post("/things", body);
    assert.equal(status, 400);
    assert.equal(problem.code, "malformed_json");
  });

for (const [type, status] of [
  ["application/json", 200],
  ["Application/JSON; charset=UTF-8", 200],
  ["application/merge-patch+json", 200],
  [null, 200],
  ["text/plain", 415],
  ["application/x-www-form-urlencoded", 415],
  ["application/json; charset=latin1", 415],
  ["application/jsonp", 415],
] as const)
  test(`a body of type ${type} gets ${status}`, async () => {
    const answer = await post("/things", '{"alias":"a"}', type);
    assert.equal(answer.status, status);
    if (status === 415) assert.equal(answer.body.code, "media_type_unsupported");
  });

test("an optional body counts as {} if it is empty, whatever its type", async () => {
  assert.deepEqual((await post("/start", "", "video/mp4")).body, { body: {} });
  assert.deepEqual((await post("/start", "null")).body, { body: {} });
  assert.equal((await post("/start", "false")).status, 422);
  assert.deepEqual((await post("/start", '{"params":{}}')).body, { body: { params: {} } });
  assert.equal((await post("/start", "x=1", "text/plain")).status, 415);
});

test("ignores a body that the endpoint does not use", async () => {
  assert.equal((await post("/bare", "{{{", "text/plain")).status, 200);
});

test("rejects a body that is too large by its length, or while it arrives", async () => {
  const long = JSON.stringify({ alias: "a", free: "x".repeat(5000) });
  assert.equal((await post("/things", long)).status, 413);
  const chunk = `3e8\r\n${"x".repeat(1000)}\r\n`;
  const answer = await app.sendRaw(
    `POST /things HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(5)}`,
  );
  assert.match(answer, /^HTTP\/1\.1 413 .*"code":"body_too_large"/s);
});

const listOf = (count: number, item: unknown): string => JSON.stringify(Array(count).fill(item));
const judge = (json: string): boolean => hasTooManyValues(Buffer.from(json));

test("detects too many values without parsing", () => {
  for (const item of [1, "a", {}, [], null]) assert.ok(judge(listOf(MAX_VALUES + 1, item)), JSON.stringify(item));
  assert.ok(!judge(listOf(MAX_VALUES - 1, 1)));
});

test("does not count commas in strings, whatever quotation marks they contain", () => {
  const commas = ",".repeat(2 * MAX_VALUES);
  for (const text of [commas, `"${commas}`, `\\${commas}`, `${commas}\\`, `\\"${commas}"`, `é${commas}`])
    assert.ok(!judge(JSON.stringify([text, { [text]: text }])), text.slice(0, 5));
  assert.ok(judge(`["\\"", ${listOf(MAX_VALUES + 1, 1)}]`));
  // Around the length from which strings are searched natively.
  for (let length = 55; length < 75; length += 1)
    for (const end of ["\\", "\\\\", '"', '\\"', '"\\', '""']) {
      const text = "x".repeat(length) + end;
      assert.ok(!judge(JSON.stringify([text + commas + end, text])), `${length} ${end}`);
      assert.ok(judge(`[${JSON.stringify(text)}, ${listOf(MAX_VALUES + 1, 1)}]`), `${length} ${end}`);
    }
});

test("leaves an unterminated string to the parser", () => {
  for (const json of ['"', '["\\', '["\\"']) assert.ok(!judge(json));
});

test("counts parsed values exactly", () => {
  const message = `has more than ${MAX_VALUES} values`;
  assert.deepEqual(findUnsound(Array(MAX_VALUES).fill(1)), [{ path: "", message }]);
  assert.deepEqual(findUnsound(Array(MAX_VALUES - 2).fill(1)), []);
});
