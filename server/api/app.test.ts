import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { Type } from "typebox";
import { Problem } from "../../schemas/api/problem.ts";
import { ServiceError } from "../service-error.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import { define, openApp, SHAPE } from "./app.fixture.ts";
import type { AnyEndpoint, Method } from "./endpoint.ts";

const echo = (method: Method, path: string, more: Partial<AnyEndpoint> = {}): AnyEndpoint =>
  define(method, path, `${method}${path}`, {
    ...SHAPE,
    answers: { 200: { description: "The answer.", schema: Type.Object({ path: Type.String() }) } },
    errors: ["wrong_state"],
    handle: ({ params }) => ({ status: 200, body: { path, params } }),
    ...more,
  });

const IMAGES = randomBytes(90_000).toString("base64");
let cancelled = 0;
const app = await openApp([
  echo("POST", "/process/{process_uuid}/{output_uuid}"),
  echo("POST", "/process/{process_uuid}/pause"),
  echo("GET", "/process/{process_uuid}"),
  echo("DELETE", "/process/{uuid}"),
  echo("POST", "/process/stop_all"),
  echo("GET", "/graphs/{name}", { params: Type.Object({ name: Type.String({ pattern: "^[a-z]+$" }) }) }),
  echo("POST", "/graphs/validate"),
  echo("GET", "/long", { handle: () => ({ status: 200, body: { path: "x".repeat(5000) } }) }),
  echo("GET", "/images", { handle: () => ({ status: 200, body: { path: IMAGES } }) }),
  echo("GET", "/stream", {
    handle: () => {
      const text = new TextEncoder().encode("x".repeat(5000));
      const stream = new ReadableStream({
        pull: (controller) => controller.enqueue(text),
        cancel: () => {
          cancelled += 1;
        },
      });
      return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
    },
  }),
  echo("GET", "/broken", {
    handle: () => {
      throw new Error("the password is swordfish");
    },
  }),
  echo("GET", "/rejected", {
    handle: () => {
      throw new ServiceError("wrong_state", { detail: "It is paused.", retryAfterSeconds: 1.2 });
    },
  }),
  echo("GET", "/undeclared", {
    handle: () => {
      throw new ServiceError("disk_full", { detail: "Full." });
    },
  }),
  echo("GET", "/misshapen", { handle: () => ({ status: 200, body: { path: 7 } }) }),
  echo("GET", "/keyed", { access: "key" }),
  echo("GET", "/linked", { access: "url-key" }),
]);
after(() => app.close(0));

const [a, b] = [newUuid(), newUuid()];

async function problemOf(response: Response): Promise<Problem> {
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  const problem = (await response.json()) as Problem;
  assert.deepEqual(checkBy(Problem)(problem), []);
  assert.equal(problem.status, response.status);
  assert.equal(problem.request_id, response.headers.get("x-request-id"));
  return problem;
}

for (const [method, path, route] of [
  ["POST", `/process/${a}/${b}`, "/process/{process_uuid}/{output_uuid}"],
  ["POST", `/process/${a}/pause`, "/process/{process_uuid}/pause"],
  ["POST", "/process/stop_all", "/process/stop_all"],
  ["GET", `/process/${a.toUpperCase()}`, "/process/{process_uuid}"],
  ["DELETE", `/process/${a}`, "/process/{uuid}"],
  ["GET", "/graphs/detect", "/graphs/{name}"],
  ["GET", "/graphs/detect/", "/graphs/{name}"],
  ["DELETE", `/process/${a}/`, "/process/{uuid}"],
  ["POST", "/process/stop_all/", "/process/stop_all"],
  ["POST", "/graphs/validate", "/graphs/validate"],
] as const)
  test(`${method} ${path} is ${route}`, async () => {
    const response = await app.call(path, { method });
    assert.equal(response.status, 200);
    const body = (await response.json()) as { path: string; params: object };
    assert.equal(body.path, route);
    if (route === "/process/{process_uuid}") assert.deepEqual(body.params, { process_uuid: a });
  });

test("`/` redirects to the console", async () => {
  const front = await app.call("/", { redirect: "manual" });
  assert.deepEqual([front.status, front.headers.get("location")], [302, "console"]);
});

for (const path of [
  "/nothing",
  "/process/7",
  `/process/${a}//`,
  `/process/${a}/${b}/c`,
  `/process/${a}x`,
  "/process//pause",
  "/graphs/DETECT",
  "/graphs/..%2f..%2fetc",
  "/graphs/%00",
  "/graphs/%ff",
  "/docs/package.json",
  "/docs/..%2fpackage.json",
])
  test(`${path} does not exist`, async () => {
    const response = await app.call(path);
    assert.equal(response.status, 404);
    assert.equal((await problemOf(response)).code, "path_not_found");
  });

const detailsOfUnknown: Readonly<Record<string, RegExp>> = {
  "/process/7": /^process_uuid in the path is "7"; expected a UUID\.$/,
  [`/process/${a}/nonsense`]: /^output_uuid in the path is "nonsense"; expected a UUID\.$/,
  "/prcess/7": /; did you mean "\/process\/\{process_uuid\}"\?$/,
  "/grahps/validate": /; did you mean "\/graphs\/validate"\?$/,
  "/api/v1/long": /; did you mean "\/long"\?$/,
  "/nothing": /lists all paths\.$/,
  [`/prcess/${"x".repeat(4000)}`]: /lists all paths\.$/,
};
for (const [path, detail] of Object.entries(detailsOfUnknown))
  test(`${path.slice(0, 60)}: the answer says what was expected`, async () => {
    const response = await app.call(path);
    const problem = await problemOf(response);
    assert.deepEqual([response.status, problem.code], [404, "path_not_found"]);
    assert.match(problem.detail ?? "", detail);
  });

test("an unsupported method is rejected with the supported ones", async () => {
  const response = await app.call(`/process/${a}`, { method: "PUT" });
  assert.equal(response.status, 405);
  assert.equal(response.headers.get("allow"), "GET, DELETE, HEAD, OPTIONS");
  assert.equal((await problemOf(response)).code, "method_not_allowed");
  const literal = await app.call("/graphs/validate");
  assert.equal(literal.status, 405);
  assert.equal(literal.headers.get("allow"), "POST, OPTIONS");
  await literal.text();
});

test("HEAD answers like GET, without the body", async () => {
  const headers = { "accept-encoding": "identity" };
  const get = await app.call("/long", { headers });
  const head = await app.call("/long", { method: "HEAD", headers });
  assert.equal(head.status, 200);
  assert.equal(await head.text(), "");
  assert.equal(head.headers.get("content-length"), String((await get.text()).length));
});

test("HEAD of a stream ends the stream", async () => {
  const head = await app.call("/stream", { method: "HEAD" });
  assert.equal(head.status, 200);
  assert.equal(cancelled, 1);
});

test("OPTIONS lists the methods", async () => {
  const response = await app.call("/graphs/detect", { method: "OPTIONS" });
  assert.equal(response.status, 204);
  assert.equal(response.headers.get("allow"), "GET, HEAD, OPTIONS");
  assert.equal(response.headers.get("access-control-allow-origin"), null);
  const nowhere = await app.call("/process/7", { method: "OPTIONS" });
  assert.equal(nowhere.status, 404);
  await nowhere.text();
});

test("compresses long JSON for clients that accept it, and never streams", async () => {
  const plain = await app.call("/long", { headers: { "accept-encoding": "identity" } });
  const packed = await app.call("/long", { headers: { "accept-encoding": "br, gzip;q=0.5" } });
  assert.equal(plain.headers.get("content-encoding"), null);
  assert.equal(packed.headers.get("content-encoding"), "gzip");
  assert.match(packed.headers.get("vary") ?? "", /accept-encoding/i);
  assert.deepEqual(await packed.json(), await plain.json());
  const rejected = await app.call("/long", { headers: { "accept-encoding": "gzip;q=0" } });
  assert.equal(rejected.headers.get("content-encoding"), null);
  await rejected.text();
  const stream = await app.call("/stream", { headers: { "accept-encoding": "gzip" } });
  assert.equal(stream.headers.get("content-encoding"), null);
  await stream.body?.cancel();
});

test("does not compress what is mostly images", async () => {
  const sent = await app.call("/images", { headers: { "accept-encoding": "gzip" } });
  assert.equal(sent.headers.get("content-encoding"), null);
  assert.match(sent.headers.get("vary") ?? "", /accept-encoding/i);
  assert.deepEqual(await sent.json(), { path: IMAGES });
});

test("uses the client's request id if it is safe, else generates one", async () => {
  const kept = await app.call("/long", { headers: { "x-request-id": "job-7/a" } });
  assert.equal(kept.headers.get("x-request-id"), "job-7/a");
  await kept.text();
  const made = await app.call("/long", { headers: { "x-request-id": 'x"} {"level":60' } });
  assert.match(made.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
  await made.text();
});

test("an internal error is answered with the request id only, and logged with its stack", async () => {
  const response = await app.call("/broken");
  assert.equal(response.status, 500);
  const problem = await problemOf(response);
  assert.equal(problem.code, "internal_error");
  assert.doesNotMatch(JSON.stringify(problem), /swordfish/);
  const line = app.logged.find((text) => text.includes(problem.request_id ?? "-") && text.includes("swordfish"));
  assert.match(line ?? "", /app\.test\.(ts|mjs)/);
});

test("an error of an endpoint is answered with its code and `Retry-After`", async () => {
  const response = await app.call("/rejected");
  assert.equal(response.status, 409);
  assert.equal(response.headers.get("retry-after"), "2");
  assert.equal((await problemOf(response)).detail, "It is paused.");
});

test("with `check_answers`, an answer that violates its schema and an undeclared code are internal errors", async () => {
  for (const path of ["/misshapen", "/undeclared"]) {
    const response = await app.call(path);
    assert.equal(response.status, 500, path);
    await response.text();
  }
  assert.ok(app.logged.some((line) => line.includes("the answer of GET /misshapen does not match")));
});

test("accepts a key in the header, and in the URL only on endpoints whose URLs are handed out", async () => {
  const status = async (path: string, headers: Record<string, string> = {}) => {
    const response = await app.call(path, { headers });
    return response.ok ? 200 : (await problemOf(response)).code;
  };
  assert.equal(await status("/keyed"), "api_key_missing");
  assert.equal(await status("/keyed", { api_key: "" }), "api_key_missing");
  assert.equal(await status("/keyed", { api_key: "eve" }), "api_key_invalid");
  assert.equal(await status("/keyed", { api_key: "ada" }), 200);
  assert.equal(await status("/keyed?api_key=ada"), "api_key_missing");
  assert.equal(await status("/linked?api_key=ada"), 200);
  assert.equal(await status("/linked?api_key=eve"), "api_key_invalid");
});

test("the access log has one line per request and never contains a key", async () => {
  const paths = [
    "/linked?api_key=sesame-1&a=b",
    "/nothing?%61pi_key=sesame-2",
    "/linked?API_KEY=sesame-3&%ff=sesame-4",
  ];
  for (const path of paths) await (await app.call(path, { headers: { api_key: "sesame-5" } })).text();
  const log = app.logged.join("");
  assert.match(log, /"path":"\/linked\?api_key=\*\*\*&a=b","status":403/);
  assert.match(log, /"code":"api_key_invalid"/);
  assert.doesNotMatch(log, /sesame/);
});

test("rejects two endpoints with the same method and path", async () => {
  await assert.rejects(openApp([echo("GET", "/a/{x}"), echo("GET", "/a/{y}")]), /two endpoints define GET \/a\/\{x\}/);
});

test("during shutdown new requests are rejected and running requests finish", async () => {
  let finish = () => {};
  let enter = () => {};
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const held = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const slow = await openApp([
    echo("GET", "/slow", {
      handle: async () => {
        enter();
        await held;
        return { status: 200, body: { path: "/slow" } };
      },
    }),
  ]);
  const answer = slow.call("/slow");
  await entered;
  slow.rejectRequests();
  const rejected = await slow.call("/slow");
  assert.equal(rejected.status, 503);
  assert.equal((await problemOf(rejected)).code, "shutting_down");
  const closed = slow.close(60_000);
  finish();
  assert.equal((await answer).status, 200);
  await closed;
});
