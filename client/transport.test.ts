/** Against a real HTTP server, whose response each test defines. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, describe, test } from "node:test";
import { ApiError, type ClientOptions, createTransport, type Route } from "./transport.ts";

type Answerer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

let answer: Answerer = () => {};
const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
await once(server, "listening");
after(() => {
  server.closeAllConnections();
  server.close();
});
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const GET: Route = { method: "GET", path: "/thing/{name}" };
const POST: Route = { method: "POST", path: "/things", bodyType: "application/json" };
const transport = (options: Partial<ClientOptions> = {}) => createTransport({ url, ...options });

const respond =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answerer =>
  (_, response) => {
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
  };

/** The body of a request. */
async function readRequest(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  return text;
}

async function failure(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(
    () => assert.fail("the call succeeded"),
    (fault: unknown) => fault,
  );
  assert.ok(error instanceof ApiError, String(error));
  return error;
}

describe("a request", () => {
  test("contains the key, the path and the query, all encoded", async () => {
    let seen: IncomingMessage | undefined;
    answer = (request, response) => {
      seen = request;
      return respond(200, {})(request, response);
    };
    const send = transport({ url: `${url}/`, apiKey: () => "wh_key" });
    await send({ ...GET, query: ["q", "left_out", "nothing"] }, { name: "a/b ?ü", q: "x&y=1", nothing: null });
    assert.equal(seen?.url, "/thing/a%2Fb%20%3F%C3%BC?q=x%26y%3D1");
    assert.equal(seen?.headers.api_key, "wh_key");
  });

  for (const name of ["..", ".", "", undefined])
    test(`is not sent when a path parameter would change the path: ${JSON.stringify(name)}`, async () => {
      answer = () => assert.fail("the request was sent");
      const { code, message } = await failure(transport()(GET, { name }));
      assert.equal(code, "invalid_input");
      assert.match(message, /^name is "/);
    });

  test("is not sent with a key that is not a valid header value", async () => {
    answer = () => assert.fail("the request was sent");
    const { code, message } = await failure(transport({ apiKey: "wh_ключ" })(GET, { name: "a" }));
    assert.deepEqual([code, message], ["invalid_input", "the API key contains invalid characters"]);
  });

  test("has a JSON body", async () => {
    answer = async (request, response) => {
      assert.equal(request.headers["content-type"], "application/json");
      respond(200, { got: JSON.parse(await readRequest(request)) })(request, response);
    };
    assert.deepEqual(await transport()(POST, { body: { alias: "é" } }), { got: { alias: "é" } });
  });

  test("has a form as multipart/form-data, with its boundary", async () => {
    answer = async (request, response) => {
      respond(200, { type: request.headers["content-type"], text: await readRequest(request) })(request, response);
    };
    const body = new FormData();
    body.set("file", new Blob(["frames"]), "clip.mp4");
    const { type, text } = await transport()({ ...POST, bodyType: "multipart/form-data" }, { body });
    assert.match(type, /^multipart\/form-data; boundary=/);
    assert.match(text, /filename="clip\.mp4"[\s\S]*frames/);
  });

  test("has a text body unchanged", async () => {
    answer = async (request, response) => respond(200, await readRequest(request))(request, response);
    assert.equal(await transport()({ ...POST, bodyType: "application/yaml" }, { body: "graph: x\n" }), "graph: x\n");
  });
});

describe("a response", () => {
  test("with text is a string, and any other type the Response itself", async () => {
    answer = (_, response) =>
      void response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" }).end("hello");
    assert.equal(await transport()(GET, { name: "a" }), "hello");
    answer = (_, response) => void response.writeHead(200, { "Content-Type": "image/png" }).end("bytes");
    const picture: Response = await transport()(GET, { name: "a" });
    assert.equal(await picture.text(), "bytes");
  });

  test("with an error status is an ApiError with code, faults and Retry-After", async () => {
    const errors = [{ path: "/alias", message: "is missing" }];
    const problem = { code: "invalid_input", title: "No", detail: "alias is missing.", errors, request_id: "r-1" };
    answer = respond(429, problem, { "Content-Type": "application/problem+json", "Retry-After": "7" });
    const error = await failure(transport()(POST, { body: {} }));
    assert.deepEqual(
      [error.status, error.code, error.message, error.errors, error.retryAfterSeconds, error.requestId],
      [429, "invalid_input", "alias is missing.", errors, 7, "r-1"],
    );
  });

  const foreign = '{"code":7,"detail":["no"],"errors":{"a":1}}';
  for (const body of ["<h1>Bad gateway</h1>", "null", "", '"no"', foreign])
    test(`with an error status of a proxy is an ApiError: ${JSON.stringify(body)}`, async () => {
      answer = (_, response) => void response.writeHead(502).end(body);
      const { status, code, message, errors } = await failure(transport()(GET, { name: "a" }));
      assert.deepEqual([status, code, message, errors], [502, "unknown", "the service answered 502", []]);
    });

  test("with invalid JSON is an ApiError", async () => {
    answer = (_, response) => void response.writeHead(200, { "Content-Type": "application/json" }).end('{"half":');
    assert.equal((await failure(transport()(GET, { name: "a" }))).code, "bad_answer");
  });

  test("that is cut off is an ApiError", async () => {
    answer = (_, response) => {
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" });
      response.write('{"half":', () => response.destroy());
    };
    assert.equal((await failure(transport()(GET, { name: "a" }))).code, "no_answer");
  });
});

describe("a call", () => {
  test("to an unreachable service is an ApiError", async () => {
    const { status, code, message } = await failure(transport({ url: "http://127.0.0.1:1" })(GET, { name: "a" }));
    assert.deepEqual([status, code, message], [0, "no_answer", "the service cannot be reached"]);
  });

  test("ends at the time limit, before the response and within it", async () => {
    const limited = transport({ limitMs: 50 });
    answer = () => {};
    assert.equal((await failure(limited(GET, { name: "a" }))).message, "no response within 0.05 s");
    answer = (_, response) => void response.writeHead(200, { "Content-Type": "application/json" }).write("{");
    assert.equal((await failure(limited(GET, { name: "a" }))).code, "no_answer");
  });

  test("may have its own time limit", async () => {
    answer = () => {};
    const { message } = await failure(transport()(GET, { name: "a" }, { limitMs: 50 }));
    assert.equal(message, "no response within 0.05 s");
  });

  test("does not limit the duration of a stream", async () => {
    // On a busy machine a request can be sent again, and the first one be received later.
    const responses: ServerResponse[] = [];
    answer = (_, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: 1\n\n");
      responses.push(response);
    };
    const limitMs = 1000;
    const stream: Response = await transport({ limitMs })(GET, { name: "a" });
    await new Promise((resolve) => setTimeout(resolve, limitMs + 1));
    for (const response of responses) response.end("data: 2\n\n");
    assert.equal(await stream.text(), "data: 1\n\ndata: 2\n\n");
  });

  test("ends when its signal is aborted, with the reason of the signal", async () => {
    answer = () => {};
    const call = new AbortController();
    const waiting = transport()(GET, { name: "a" }, { signal: call.signal });
    call.abort(new Error("enough"));
    await assert.rejects(waiting, /^Error: enough$/);
  });

  test("ends with the reason of its signal within an error response, too", async () => {
    const call = new AbortController();
    answer = (_, response) => {
      response
        .writeHead(500, { "Content-Type": "application/problem+json" })
        .write("{", () => call.abort(new Error("enough")));
    };
    await assert.rejects(transport()(GET, { name: "a" }, { signal: call.signal }), /^Error: enough$/);
  });
});
