/** Traces of the real service, as a receiver of OTLP over HTTP gets them from the official exporter. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json as readJson } from "node:stream/consumers";
import { after, before, test } from "node:test";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { MASTER_KEY, TestService, uploadVideo } from "./service.fixture.ts";

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}
interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: OtlpSpan["attributes"] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

const bodies: OtlpBody[] = [];
const headers: string[] = [];
/** A collector: answers as the protocol says, or not at all. */
const collector = createServer(async (request, response) => {
  headers.push(`${request.method} ${request.url} ${request.headers["content-type"]}`);
  bodies.push((await readJson(request)) as OtlpBody);
  response.writeHead(200, { "content-type": "application/json" }).end("{}");
});
const folder = temporaryFolder();
let service: TestService;
before(async () => {
  collector.listen(0, "127.0.0.1");
  await once(collector, "listening");
  const { port } = collector.address() as AddressInfo;
  service = await TestService.start({ env: { WINDHOVER_TRACING_OTLP_URL: `http://127.0.0.1:${port}/` } });
});
after(async () => {
  await service?.close();
  collector.close();
});

const spansOf = (traceId: string): readonly OtlpSpan[] =>
  bodies
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .filter((span) => span.traceId === traceId);
const attributeOf = ({ attributes }: Pick<OtlpSpan, "attributes">, name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const STEPS = [
  ...["start process", "check request", "store process", "launch process", "load runner", "play graph"],
  ...["compile graph", "build pipeline", "first frame", "first message"],
];

test("a start is one trace, from the request of the client to the first message of the runner", {
  timeout: 300_000,
}, async () => {
  const { uuid: sourceUuid } = await uploadVideo(service, await makeClip(folder, 25, "width=64&height=48"));
  const path = `/start?source_uuid=${sourceUuid}`;
  const json = { params: { every: 1000, include_predicted: true } };
  const traceparent = `00-${TRACE}-${CALLER}-01`;
  const started = await service.expect<StartedProcess>(201, "POST", path, { json, headers: { traceparent } });
  const all = await poll("the whole trace has arrived", async () => {
    const spans = spansOf(TRACE);
    return ["POST /start", ...STEPS].every((name) => spans.some((span) => span.name === name)) && spans;
  });
  const find = (name: string): OtlpSpan => all.find((span) => span.name === name) ?? assert.fail(name);
  const parentOf = (name: string) => all.find(({ spanId }) => spanId === find(name).parentSpanId)?.name;
  const request = find("POST /start");
  assert.equal(request.parentSpanId, CALLER, "it continues the trace of the client");
  assert.equal(attributeOf(request, "http.response.status_code"), 201);
  assert.equal(attributeOf(find("launch process"), "windhover.process"), started.process_uuid);
  assert.equal(attributeOf(find("first message"), "windhover.channel"), "detection_data");
  const parents = STEPS.map((name) => [name, parentOf(name)]);
  assert.deepEqual(Object.fromEntries(parents), {
    ...{ "start process": "POST /start", "check request": "start process", "store process": "start process" },
    ...{ "launch process": "start process", "load runner": "launch process", "play graph": "launch process" },
    ...{ "compile graph": "launch process", "build pipeline": "launch process", "first frame": "launch process" },
    "first message": "launch process",
  });
  for (const { startTimeUnixNano: from, endTimeUnixNano: to, status } of all)
    assert.ok(BigInt(from) <= BigInt(to) && (status.code ?? 0) !== 2);
  const begins = (name: string) => BigInt(find(name).startTimeUnixNano);
  for (const [earlier, later] of [
    ["check request", "store process"],
    ["store process", "launch process"],
    ["load runner", "play graph"],
    ["play graph", "first frame"],
  ] as const)
    assert.ok(begins(earlier) <= begins(later), `${earlier} before ${later}`);
  const [resource = assert.fail()] = bodies.flatMap(({ resourceSpans }) => resourceSpans);
  assert.equal(attributeOf(resource.resource, "service.name"), "windhover");
  assert.ok(
    headers.every((line) => line === "POST /v1/traces application/json"),
    headers[0],
  );

  await poll("the process has finished", async () => {
    const { state } = await service.expect<ProcessRecord>(200, "GET", `/process/${started.process_uuid}`);
    return state === "finished";
  });
  const logged = service.serving.stderr.split("\n").filter((line) => line.includes(TRACE));
  assert.ok(
    logged.some((line) => line.includes(started.process_uuid)),
    "log lines of the process have its trace",
  );
  assert.doesNotMatch(JSON.stringify(bodies), new RegExp(MASTER_KEY.slice(0, 20)));
});

test("a request without a valid traceparent begins a trace; one that is not sampled is not sent", {
  timeout: 120_000,
}, async () => {
  const [unsampled, sampled] = ["1".repeat(32), "2".repeat(32)];
  const invalid = ["00-0-0-01", `00-${"0".repeat(32)}-${CALLER}-01`, `zz-${TRACE}-${CALLER}-01`, "x".repeat(5000)];
  for (const traceparent of [...invalid, `00-${unsampled}-${CALLER}-00`])
    await service.expect(200, "GET", "/sources", { headers: { traceparent } });
  const missing = await service.call("GET", "/source/01890000-0000-7000-8000-000000000000", {
    headers: { traceparent: `00-${sampled}-${CALLER}-01` },
  });
  assert.equal(missing.status, 404);
  const [span = assert.fail()] = await poll("the last one has arrived", async () => {
    const spans = spansOf(sampled);
    return spans.length > 0 && spans;
  });
  assert.equal(span.name, "GET /source/{source_id}");
  assert.equal(attributeOf(span, "error.type"), "source_not_found");
  assert.deepEqual(spansOf(unsampled), []);
  const begun = bodies
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .filter(({ name, parentSpanId }) => name === "GET /sources" && !parentSpanId);
  assert.equal(begun.length, invalid.length);
});
