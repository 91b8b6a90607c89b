/** Every operation of the OpenAPI document, on resources of another tenant. */
import type { Operation } from "../api/api-contract.ts";
import { ALERT, type Owned, RECEIVER, type Target } from "./target.fixture.ts";

export interface ForeignCall {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
  /** A listing: expected to be empty instead of 404. */
  readonly isList: boolean;
  /** Status for a key of another tenant. */
  readonly refusal: 403 | 404;
}

const SUBSCRIPTION = { notification_url: RECEIVER, event_type: "new-tracks" };
const UNKNOWN = "01890000-0000-7000-8000-000000000000";
const SDP = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n";

/** Valid bodies by operation: an invalid one would be rejected before the check of the owner. */
const BODIES: Readonly<Record<string, (owned: Owned) => unknown>> = {
  "POST /key": () => ({ name: "mine", scopes: ["read"], username: "tenant-b" }),
  "PATCH /key/{key_uuid}": () => ({ name: "mine now" }),
  "POST /key/{key_uuid}/rotate": () => ({ overlap_seconds: 0 }),
  "PATCH /account/{username}": () => ({ limits: { processes: 1 } }),
  "PATCH /source/{source_id}": () => ({ alias: "mine now" }),
  "PATCH /output/{output_uuid}": () => ({ alias: "mine now" }),
  "POST /alert/{uuid}": () => ALERT,
  "PATCH /alert/{uuid}": () => ({ status: "inactive" }),
  "POST /subscribe/{process_uuid}": () => SUBSCRIPTION,
  "DELETE /subscriptions/{process_uuid}": () => SUBSCRIPTION,
  "POST /subscriptions/{process_uuid}/test": () => SUBSCRIPTION,
  "POST /process/{process_uuid}/branches": () => ({ slot: "view" }),
  "PATCH /process/{process_uuid}/graph": () => ({ params: { confidence: 0.9 } }),
  "POST /process/{process_uuid}/graph": () => ({ version: 1, dry_run: true }),
  "POST /process/{process_uuid}/shadow": () => ({ seconds: 1 }),
  "PATCH /notice/{notice_uuid}": () => ({ reviewed: true }),
  "POST /events/subscriptions": ({ source }) => ({
    output: [{ type: "webhook", config: { url: RECEIVER } }],
    source_uuid: source,
  }),
  "PATCH /source/{source_uuid}/recording": () => ({ mode: "off" }),
  "POST /source/{source_uuid}/calibration": () => ({ landmarks: [{ x: 0.5, y: 0.5, latitude: 52, longitude: 5 }] }),
  "PATCH /process/{process_uuid}/recording": () => ({ mode: "off" }),
  "POST /clips": ({ source }) => ({ source_uuid: source, from: "2026-01-01T00:00:00Z", to: "2026-01-01T00:01:00Z" }),
  "POST /graphs/try": ({ source }) => ({
    yaml: "graph: mine\nchains:\n  main: [source, decode, fakesink]\n",
    source_uuid: source,
  }),
};

/** Queries of operations that need one of several parameters. */
const ALTERNATIVES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "POST /start": [["source_uuid"], ["recording_uuid", "index"]],
};

/** Of a stored graph and of an uploaded model, by name. */
const GRAPH = "/graphs/{name}";
const MODEL = "/models/{name}";

/** Values of path and query parameters by name. `POST /alert/{uuid}` refers to a process. */
function valuesOf(operation: Operation, owned: Owned): Readonly<Record<string, string>> {
  return {
    source_id: owned.source,
    source_uuid: owned.source,
    process_uuid: owned.process,
    output_uuid: owned.output,
    uuid: operation.method === "POST" ? owned.process : owned.alert,
    // A process has recordings, too.
    recording_uuid: operation.path === "/start" ? owned.process : UNKNOWN,
    notice_uuid: UNKNOWN,
    clip_uuid: UNKNOWN,
    branch_uuid: UNKNOWN,
    subscription_uuid: owned.subscription,
    node_uuid: UNKNOWN,
    key_uuid: owned.key,
    username: "tenant-b",
    session: UNKNOWN,
    name: operation.path.startsWith(GRAPH) ? owned.graph : owned.model,
    version: "1",
    index: "0",
    file: "index.m3u8",
    notification_url: RECEIVER,
    event_type: "new-tracks",
    from: "2026-01-01T00:00:00Z",
    to: "2026-01-01T00:01:00Z",
    at: "2026-01-01T00:00:00Z",
  };
}

/** Every operation but those that need no key, with the resources of tenant B and valid input. */
export function listCalls({ service, owned }: Target): readonly (Pick<
  ForeignCall,
  "method" | "path" | "body" | "type"
> & {
  readonly operation: Operation;
})[] {
  return service.contract.operations.flatMap((operation) => {
    if (!operation.security.some((scheme) => "api_key" in scheme)) return [];
    const values = valuesOf(operation, owned);
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "0");
    const query = (operation.parameters ?? []).filter(({ in: where, required }) => where === "query" && required);
    const [chosen = []] = ALTERNATIVES[`${operation.method} ${operation.path}`] ?? [];
    const names = [...query.map(({ name }) => name), ...chosen];
    const search = new URLSearchParams(names.map((name): [string, string] => [name, values[name] ?? ""]));
    const [type = "application/json"] = Object.keys(operation.requestBody?.content ?? {});
    const body = bodyOf(`${operation.method} ${operation.path}`, type, owned);
    return [
      {
        ...{ operation, method: operation.method, type },
        path: search.size === 0 ? path : `${path}?${search}`,
        ...(body !== undefined && { body }),
      },
    ];
  });
}

/** Operations on a resource of one user; without static pages. */
export function listForeignCalls({ service, owned }: Target): readonly ForeignCall[] {
  return service.contract.operations.flatMap((operation) => {
    const values = valuesOf(operation, owned);
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
    const inQuery = (operation.parameters ?? []).filter(({ in: where, name }) => where === "query" && name in values);
    const resources = [...names, ...inQuery.map(({ name }) => name)].filter((name) => /uuid|source_id/.test(name));
    // A graph is stored under a name of its own key: that is not a name of another tenant.
    const isNamed = operation.path.startsWith(GRAPH) || operation.path.startsWith(MODEL);
    if (isNamed && operation.method !== "PUT") resources.push("name");
    const key = `${operation.method} ${operation.path}`;
    if ((resources.length === 0 && !(key in BODIES)) || isPage(operation)) return [];
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "x");
    const [type] = Object.keys(operation.requestBody?.content ?? {});
    const body = bodyOf(key, type, owned);
    return (ALTERNATIVES[key] ?? [inQuery.map(({ name }) => name)]).map((chosen): ForeignCall => {
      const query = new URLSearchParams(chosen.map((name): [string, string] => [name, values[name] ?? ""]));
      return {
        method: operation.method,
        isList: names.length === 0 && operation.method === "GET",
        // Of the service, not of a user: only operators learn more.
        refusal: operation.path.startsWith("/nodes/") ? 403 : 404,
        path: query.size === 0 ? path : `${path}?${query}`,
        ...(body !== undefined && { body, type: type ?? "application/json" }),
      };
    });
  });
}

const isPage = ({ path }: Operation): boolean => /\/(hls|webrtc)$/.test(path);

function bodyOf(key: string, type: string | undefined, owned: Owned): string | undefined {
  if (type === "application/sdp") return SDP;
  const json = BODIES[key]?.(owned);
  return json === undefined ? undefined : JSON.stringify(json);
}

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

/** Invalid variants of a valid token. */
export function corruptToken(token: string): readonly string[] {
  const [end = "", mac = ""] = token.split(".");
  const other = (letter: string) => ALPHABET[(ALPHABET.indexOf(letter) + 1) % ALPHABET.length] ?? "x";
  const flipped = [...mac].map((letter, i) => mac.slice(0, i) + other(letter) + mac.slice(i + 1));
  return [
    // Not the last letter: it has unused bits, so that another letter may decode to the same bytes.
    ...flipped.slice(0, -1).map((changed) => `${end}.${changed}`),
    ...[`${Number(end) + 1}.${mac}`, `${Number(end) * 10}.${mac}`, `0.${mac}`, `-1.${mac}`, `1e99.${mac}`],
    ...[`${end}.`, `.${mac}`, `${end}`, mac, `${end}.${mac}x`, `${end}.${mac}.${mac}`, `${end}.${"A".repeat(5000)}`],
    ...["", ".", "null", "0", "%00", `${end}%2e${mac}x`],
  ];
}
