/**
 * Query and body of a request: limited in bytes, time, depth and number of values, validated against their schemas, and
 * free of characters that the database cannot store. Not Hono's `bodyLimit`: it has no time limit.
 */
import type { IncomingMessage } from "node:http";
import type { TObject } from "typebox";
import { describeValue, listChoices, NOT_KNOWN } from "../../schemas/bounded-check.ts";
import { originOf } from "../../schemas/client-origin.ts";
import type { Config } from "../../schemas/config.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { type InputFault, invalidInput, MAX_FAULTS, ServiceError } from "../service-error.ts";
import type { Check } from "../validation.ts";
import { urlCredentials } from "./access.ts";
import type { ApiCall, ApiMiddleware } from "./context.ts";
import type { AnyEndpoint } from "./endpoint.ts";
import type { RequestScheduler } from "./request-scheduler.ts";
import type { Route } from "./routes.ts";

export interface InputDeps {
  readonly http: Config["http"];
  readonly scheduler: RequestScheduler;
}

/** Sets query and body of the call. Reports all faults of both together. */
export function validateInput(route: Route, deps: InputDeps): ApiMiddleware {
  const { endpoint, checkQuery, checkBody } = route;
  return async ({ env: { call } }, next) => {
    const query = readQuery(call.search, endpoint, checkQuery);
    const body = checkBody === null ? NOTHING : await readBody(call, route, checkBody, deps);
    const faults = [...query.faults, ...body.faults.map((fault) => explainPlace(fault, endpoint))];
    if (faults.length > 0) throw invalidInput(faults);
    call.query = query.value ?? {};
    call.body = body.value;
    await next();
  };
}

interface Checked {
  readonly value: unknown;
  readonly faults: readonly InputFault[];
}

const NOTHING: Checked = { value: undefined, faults: [] };

/** Says where a field belongs that the body does not have. */
function explainPlace(fault: InputFault, { method, path, query, body }: AnyEndpoint): InputFault {
  const name = fault.path.slice(1);
  if (!fault.message.startsWith(NOT_KNOWN) || name.includes("/")) return fault;
  if (Object.hasOwn(query?.properties ?? {}, name))
    return { path: fault.path, message: `is a query parameter, not a field of the body: ${method} ${path}?${name}=…` };
  const mayBeParam = Object.hasOwn(body?.properties ?? {}, "params") && !fault.message.endsWith("?");
  return mayBeParam ? { ...fault, message: `${fault.message}; set params of the graph within "params"` } : fault;
}

/** Converts a query string to the types of its schema. */
function readQuery(search: URLSearchParams, endpoint: AnyEndpoint, check: Check): Checked {
  const { query, access, acceptsAnyQuery = false } = endpoint;
  const properties: TObject["properties"] = query?.properties ?? {};
  const values: Record<string, unknown> = {};
  const faults = acceptsAnyQuery ? [] : findUnknown(search, Object.keys(properties), urlCredentials(access));
  for (const [name, schema] of Object.entries(properties)) {
    const texts = search.getAll(name);
    if (texts.length === 0) continue;
    const items = isSchema(schema) && "items" in schema ? schema.items : undefined;
    if (items !== undefined) values[name] = texts.map((text) => readValue(text, items));
    else if (texts.length > 1) faults.push({ path: name, message: `is given ${texts.length} times; expected once` });
    if (!(name in values)) values[name] = readValue(texts[0] ?? "", schema);
  }
  for (const { path, message } of check(values)) faults.push({ path: path.slice(1), message });
  for (const [path, value] of Object.entries(values)) {
    const message = typeof value === "string" ? findTextFault(value) : null;
    if (message !== null) faults.push({ path, message });
  }
  return { value: values, faults };
}

/** Names that are not parameters, except credentials. */
function findUnknown(search: URLSearchParams, known: readonly string[], credentials: readonly string[]): InputFault[] {
  const unknown = [...new Set(search.keys())].filter((name) => ![...known, ...credentials].includes(name));
  const list = known.length === 0 ? "it has none" : `expected ${listChoices(known)}`;
  return unknown.slice(0, MAX_FAULTS).map((name) => ({
    path: describeValue(name).slice(1, -1),
    message: `is not a parameter of this operation; ${list}${suggestParameter(name, known)}`,
  }));
}

/** Some listings name a filter `alert`, others `alert_uuid`. */
function suggestParameter(name: string, known: readonly string[]): string {
  const sibling = known.find((one) => `${one}_uuid` === name || one === `${name}_uuid`);
  return sibling === undefined ? didYouMean(name, known) : `; did you mean "${sibling}"?`;
}

async function readBody(
  call: ApiCall,
  { endpoint }: Route,
  check: Check,
  { http, scheduler }: InputDeps,
): Promise<Checked> {
  const { raw: incoming } = call;
  const limits = { bytes: http.body_bytes, seconds: http.request_seconds };
  const isOptional = endpoint.isBodyOptional === true;
  if (!isOptional) expectJsonType(incoming);
  expectSize(incoming, limits);
  call.letContinue();
  const bytes = await readBytes(incoming, limits);
  if (bytes.length === 0 && isOptional) {
    const value = {};
    return { value, faults: check(value) };
  }
  if (bytes.length === 0)
    throw new ServiceError("malformed_json", { detail: "The body is empty; expected a JSON value." });
  if (isOptional) expectJsonType(incoming);
  if (bytes.length > LARGE_BYTES) {
    await scheduler.scheduleExpensive(originOf(call.address), bytes.length);
    if (hasTooManyValues(bytes)) throw invalidInput([{ path: "", message: TOO_MANY_VALUES }]);
  }
  const parsed = parseJson(bytes);
  // Clients that always send a JSON body send `null` for an empty one.
  const value = isOptional ? (parsed ?? {}) : parsed;
  const unsound = findUnsound(value);
  // A body that is too deep or too large is not validated against the schema.
  return { value, faults: unsound.length > 0 ? unsound : check(value) };
}

type Schema = Readonly<Record<string, unknown>>;
const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null;

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$/;

/** Text that does not have the type of its schema stays text, and fails validation. */
function readValue(text: string, schema: unknown): unknown {
  const types = typesOf(schema);
  if (types.has("string")) return text;
  if ((types.has("integer") || types.has("number")) && NUMBER.test(text)) return Number(text);
  if (types.has("boolean") && (text === "true" || text === "1")) return true;
  if (types.has("boolean") && (text === "false" || text === "0")) return false;
  return text;
}

function typesOf(schema: unknown): ReadonlySet<unknown> {
  if (!isSchema(schema)) return new Set();
  if ("const" in schema) return new Set([typeof schema.const]);
  if (Array.isArray(schema.enum)) return new Set(schema.enum.map((choice) => typeof choice));
  const variants = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(variants)) return new Set(variants.flatMap((variant) => [...typesOf(variant)]));
  return new Set(Array.isArray(schema.type) ? schema.type : [schema.type]);
}

const JSON_TYPE = /^application\/(?:[a-z0-9.+-]+\+)?json$/i;

/** Parsing and validating a larger body takes milliseconds: it is scheduled as an expensive task. */
const LARGE_BYTES = 16_384;

export interface BodyLimits {
  readonly bytes: number;
  readonly seconds: number;
}

/** Throws `body_too_large` if `Content-Length` exceeds the limit. */
export function expectSize({ headers }: IncomingMessage, { bytes }: BodyLimits): void {
  if (Number(headers["content-length"] ?? 0) > bytes) throw tooLarge(bytes);
}

function expectJsonType({ headers }: IncomingMessage): void {
  const [type = "", ...parameters] = (headers["content-type"] ?? "application/json").split(";");
  const encoding = headers["content-encoding"] ?? "identity";
  const charset = parameters.map((text) => /^charset\s*=\s*"?([^"\s]*)"?$/i.exec(text.trim())?.[1]).find(Boolean);
  const rejected = (what: string, expected: string) =>
    new ServiceError("media_type_unsupported", { detail: `The ${what}; expected ${expected}.` });
  if (!JSON_TYPE.test(type.trim())) throw rejected(`body is declared as "${type.trim()}"`, "application/json");
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw rejected(`body has the charset ${charset}`, "UTF-8");
  if (encoding.toLowerCase() !== "identity")
    throw rejected(`body has the content encoding ${encoding}`, "no content encoding");
}

/** Rejects with `body_too_large`, `request_timeout`, or `malformed_request` if the connection closes. */
export function readBytes(incoming: IncomingMessage, { bytes: maxBytes, seconds }: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (error: Error | null) => {
      clearTimeout(timer);
      incoming.off("data", onData).off("end", onEnd).off("close", onClose);
      if (error === null) return resolve(Buffer.concat(chunks, size));
      incoming.pause();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > maxBytes) finish(tooLarge(maxBytes));
    };
    const onEnd = () => finish(null);
    const onClose = () =>
      finish(
        new ServiceError("malformed_request", { detail: "The connection was closed before the end of the body." }),
      );
    const timer = setTimeout(() => finish(tooSlow(seconds)), seconds * 1000);
    incoming.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

const tooLarge = (maxBytes: number) =>
  new ServiceError("body_too_large", { detail: `The body is larger than ${maxBytes} bytes.` });
const tooSlow = (seconds: number) =>
  new ServiceError("request_timeout", { detail: `The body did not arrive within ${seconds} s.` });

const decoder = new TextDecoder("utf-8", { fatal: true });

export function parseJson(bytes: Buffer): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw new ServiceError("malformed_json", { detail: "The body is not valid UTF-8.", cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceError("malformed_json", { detail: `The body is not valid JSON: ${reason}.`, cause });
  }
}

const MAX_DEPTH = 64;
/** Numbers, strings, arrays and objects of one body. */
export const MAX_VALUES = 20_000;
const TOO_MANY_VALUES = `has more than ${MAX_VALUES} values`;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Faults of strings, numbers, depth and size anywhere in a value, up to `MAX_FAULTS`. */
export function findUnsound(value: unknown): readonly InputFault[] {
  const faults: InputFault[] = [];
  const path: (string | number)[] = [];
  let left = MAX_VALUES;
  const report = (message: string) => {
    const pointer = path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
    faults.push({ path: pointer, message });
  };
  const enter = (key: string | number, item: unknown) => {
    if (left <= 0 || faults.length >= MAX_FAULTS) return;
    path.push(key);
    visit(item);
    path.pop();
  };
  const visit = (item: unknown) => {
    left -= 1;
    if (left === 0) faults.splice(0, MAX_FAULTS, { path: "", message: TOO_MANY_VALUES });
    if (left <= 0) return;
    const message = findValueFault(item, path.length);
    if (message !== null) return report(message);
    if (Array.isArray(item)) for (const [index, inner] of item.entries()) enter(index, inner);
    else if (typeof item === "object" && item !== null)
      for (const [key, inner] of Object.entries(item)) {
        const keyFault = findTextFault(key);
        if (keyFault !== null) report(`has a key that ${keyFault}`);
        else enter(key, inner);
      }
  };
  visit(value);
  return faults;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];

/** Counts commas outside strings: many times faster than parsing. */
export function hasTooManyValues(json: Buffer): boolean {
  let commas = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfString(json, at);
    else if (byte === COMMA && ++commas === MAX_VALUES) return true;
  }
  return false;
}

/** Longer strings are searched natively, which is faster by far; for short ones the call would cost more. */
const SHORT_BYTES = 64;

/** Index of the closing quotation mark. */
function endOfString(json: Buffer, from: number): number {
  let at = from + 1;
  const shortEnd = Math.min(json.length, at + SHORT_BYTES);
  while (at < shortEnd && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  if (at < shortEnd) return at;
  // The character before `at` is complete: backslashes count from here.
  for (let begin = at; ; begin = at + 1) {
    at = json.indexOf(QUOTE, begin);
    if (at === -1) return json.length;
    let first = at;
    while (first > begin && json[first - 1] === BACKSLASH) first -= 1;
    if ((at - first) % 2 === 0) return at;
  }
}

function findValueFault(value: unknown, depth: number): string | null {
  if (typeof value === "string") return findTextFault(value);
  if (typeof value === "number") return Number.isFinite(value) ? null : "is a number that is too large";
  const isNested = typeof value === "object" && value !== null;
  return isNested && depth === MAX_DEPTH ? `is nested more than ${MAX_DEPTH} deep` : null;
}

/** Null if the database can store the text. */
function findTextFault(text: string): string | null {
  if (text.includes("\0")) return "contains a NUL character";
  return LONE_SURROGATE.test(text) ? "contains half of a surrogate pair" : null;
}
