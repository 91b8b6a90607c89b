/**
 * Sends the requests of examples to a real service, and compares what it answers with the recorded examples: the same
 * status, the same media type, the same keys. `UPDATE_EXAMPLES=1` records examples that are missing or differ,
 * `UPDATE_EXAMPLES=all` all of them.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { EXAMPLES, type Example, type ExampleRequest } from "../../../schemas/api/examples.ts";
import { canonicalJson } from "../../../schemas/json.ts";
import type { Operation } from "../api-contract.ts";
import type { Answer, TestService } from "../service.fixture.ts";
import type { ExampleNames } from "./example-names.fixture.ts";
import { compareShapes, shorten } from "./shapes.fixture.ts";

const FILE = new URL("../../../schemas/api-examples.json", import.meta.url);
const HOW = "run `UPDATE_EXAMPLES=1 node setup/test.mjs --once test/api/examples`, then `npm run generate`";
/** Of streams that do not end. */
const LIMIT_MS = 60_000;
const ENDLESS = ["text/event-stream", "multipart/x-mixed-replace"];

export interface ExampleCall {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  /** A body that is not JSON, and its type. */
  readonly text?: readonly [body: string, type: string];
  /** The parts of a form; of a file: its bytes and its name. */
  readonly form?: Readonly<Record<string, string | readonly [bytes: Uint8Array | string, name: string]>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: that of the run. */
  readonly key?: string;
  /** Top-level keys of the answer that the example has. Default: all. */
  readonly only?: readonly string[];
  /** Of a stream: until its text has this. */
  readonly until?: string;
}

export class ExampleRun {
  readonly service: TestService;
  readonly key: string;
  readonly names: ExampleNames;
  readonly #made = new Map<string, Example>();
  readonly #differences: string[] = [];
  /** Of the last answer. */
  #location = "";

  constructor(service: TestService, key: string, names: ExampleNames) {
    this.service = service;
    this.key = key;
    this.names = names;
  }

  /** Sends it, asserts the status and the contract, and keeps it as the example of its operation. */
  async call<T = Record<string, never>>(id: string, status: number, call: ExampleCall = {}): Promise<T> {
    const operation = this.service.contract.operations.find(({ operationId }) => operationId === id);
    assert.ok(operation !== undefined, `unknown operation "${id}"`);
    const answer = await this.#send<T>(operation, call);
    this.#location = answer.headers.get("location") ?? "";
    assert.equal(answer.status, status, `${id}: ${answer.text.slice(0, 1000)}\n${this.service.serving.errors}`);
    const type = answer.headers.get("content-type")?.split(";")[0]?.trim() ?? null;
    const body = this.#describeAnswer(answer, type, call);
    const request = this.names.apply(describeRequest(call)) as ExampleRequest;
    this.#made.set(id, { request, status, type, ...(body !== undefined && { answer: this.names.apply(body) }) });
    return answer.body;
  }

  /** One that opens a session; resolves with the last segment of its `Location`. */
  async callSession(id: string, call: ExampleCall): Promise<string> {
    await this.call(id, 201, call);
    return this.#location.split("?")[0]?.split("/").at(-1) ?? "";
  }

  async #send<T>(operation: Operation, call: ExampleCall): Promise<Answer<T>> {
    const { params = {}, query = {}, json, text, form, headers = {}, key = this.key, until } = call;
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(params[name] ?? assert.fail(`${operation.operationId} has no ${name}`)),
    );
    const search = new URLSearchParams(query).toString();
    const address = search === "" ? path : `${path}?${search}`;
    const isKeyed = operation.security.length > 0;
    const options = {
      key: isKeyed ? key : null,
      headers: { ...(text !== undefined && { "Content-Type": text[1] }), ...headers },
      ...(json !== undefined && { json }),
      ...(text !== undefined && { body: text[0] }),
      ...(form !== undefined && { body: toForm(form) }),
    };
    if (until === undefined) return this.service.call<T>(operation.method, address, options);
    const sent = { ...options.headers, ...(isKeyed && { api_key: key }) };
    return (await readUntil(`${this.service.url}${address}`, sent, until)) as Answer<T>;
  }

  #describeAnswer({ body, text }: Answer<unknown>, type: string | null, { only }: ExampleCall): unknown {
    if (type === null || text === "") return undefined;
    if (/[/+]json$/.test(type)) {
      if (only === undefined) return shorten(body);
      return shorten(Object.fromEntries(only.map((name) => [name, (body as Record<string, unknown>)[name]])));
    }
    return /^text\/(?!html)|^application\/(sdp|vnd|x-ndjson|yaml)|mpegurl/.test(type) ? shorten(text) : undefined;
  }

  /** Operations that nothing was sent to. */
  findMissing(): readonly string[] {
    return this.service.contract.operations.flatMap(({ operationId, method, path }) =>
      this.#made.has(operationId) ? [] : [`${operationId}: ${method} ${path}`],
    );
  }

  /** How the answers differ from the recorded examples. With `UPDATE_EXAMPLES`, writes those. */
  findDifferences(): readonly string[] {
    const order = this.service.contract.operations.map(({ operationId }) => operationId);
    const mode = process.env.UPDATE_EXAMPLES;
    const kept: Record<string, Example> = {};
    for (const id of order) {
      const [made, known] = [this.#made.get(id), EXAMPLES[id]];
      const differences = made === undefined ? [] : compareExamples(id, known, made);
      this.#differences.push(...differences);
      const example = mode === "all" || differences.length > 0 ? made : known;
      if (example !== undefined) kept[id] = example;
    }
    for (const id of Object.keys(EXAMPLES).filter((name) => !order.includes(name)))
      this.#differences.push(`${id}: unknown operation`);
    if (mode === undefined) return this.#differences.map((text) => `${text}; ${HOW}`);
    writeFileSync(FILE, `${JSON.stringify(kept, null, 1)}\n`);
    return [];
  }
}

function compareExamples(id: string, known: Example | undefined, made: Example): readonly string[] {
  if (known === undefined) return [`${id}: has no recorded example`];
  const requests = [known.request, made.request].map((request) => maskNumbers(canonicalJson(request)));
  return [
    ...(requests[0] === requests[1] ? [] : [`${id}: the request is ${requests[1]}, recorded ${requests[0]}`]),
    ...(known.status === made.status && known.type === made.type
      ? []
      : [`${id}: ${made.status} ${made.type}, recorded ${known.status} ${known.type}`]),
    ...compareShapes(known.answer, made.answer).map((text) => `${id}: ${text}`),
  ];
}

/** Ids and times differ from run to run. */
const maskNumbers = (text: string): string => text.replaceAll(/\d+/g, "0");

const describeRequest = ({ params, query, json, text, form }: ExampleCall): ExampleRequest => ({
  ...(params !== undefined && { params }),
  ...(query !== undefined && { query }),
  ...(json !== undefined && { body: json }),
  ...(text !== undefined && { body: shorten(text[0]) }),
  ...(form !== undefined && {
    body: Object.fromEntries(
      Object.entries(form).map(([name, part]) => [name, typeof part === "string" ? part : part[1]]),
    ),
  }),
});

function toForm(parts: NonNullable<ExampleCall["form"]>): FormData {
  const form = new FormData();
  for (const [name, part] of Object.entries(parts))
    if (typeof part === "string") form.append(name, part);
    else form.append(name, new Blob([part[0]]), part[1]);
  return form;
}

/** The beginning of a stream, until it contains the text. */
async function readUntil(url: string, headers: Record<string, string>, wanted: string): Promise<Answer<unknown>> {
  const leaving = new AbortController();
  const response = await fetch(url, {
    headers,
    signal: AbortSignal.any([leaving.signal, AbortSignal.timeout(LIMIT_MS)]),
  });
  const type = response.headers.get("content-type")?.split(";")[0] ?? "";
  assert.ok(ENDLESS.includes(type), `${url}: ${response.status} ${type}`);
  let text = "";
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString("latin1");
    if (text.includes(wanted)) break;
  }
  leaving.abort();
  assert.ok(text.includes(wanted), `${url} ended without "${wanted}"`);
  return { status: response.status, headers: response.headers, text, body: text };
}
