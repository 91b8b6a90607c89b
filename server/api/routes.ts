/** Endpoints grouped by path, with their validators. */
import { type TObject, type TSchema, Type } from "typebox";
import { Uuid } from "../../schemas/api/records.ts";
import { listChoices } from "../../schemas/bounded-check.ts";
import { type Check, checkAndFillBy, checkBy } from "../validation.ts";
import type { AnyEndpoint, Method } from "./endpoint.ts";
import { parameterNames } from "./resource-names.ts";

/** An endpoint with its validators. */
export interface Route {
  readonly endpoint: AnyEndpoint;
  /** Of the parameters in its path. */
  readonly names: readonly string[];
  readonly checkParams: Check;
  readonly checkQuery: Check;
  readonly checkBody: Check | null;
  readonly checkAnswer: ReadonlyMap<number, Check>;
}

/** All methods of one path. */
export interface RoutePath {
  /** In Hono's notation: `/process/:0/pause`. Parameters are numbered, since endpoints may name them differently. */
  readonly pattern: string;
  readonly template: string;
  /** Number of parameters. */
  readonly parameters: number;
  readonly routes: ReadonlyMap<Method, Route>;
  /** For `Allow`. */
  readonly methods: string;
}

const NO_QUERY = Type.Object({});

const PARAMETER = /\{[^{}]+\}/g;

export const parameterSchema = (endpoint: AnyEndpoint, name: string): TSchema =>
  (endpoint.params?.properties?.[name] as TSchema | undefined) ?? Uuid;

const toPattern = (path: string): string => {
  let index = 0;
  return path.replace(PARAMETER, () => `:${index++}`);
};

/** Literal segments come before parameters, so that a parameter never matches one. */
export function groupByPath(endpoints: readonly AnyEndpoint[]): readonly RoutePath[] {
  const groups = new Map<string, AnyEndpoint[]>();
  for (const endpoint of endpoints) {
    const pattern = toPattern(endpoint.path);
    groups.set(pattern, [...(groups.get(pattern) ?? []), endpoint]);
  }
  return [...groups]
    .sort(([a], [b]) => (orderOf(a) < orderOf(b) ? -1 : Number(orderOf(a) > orderOf(b))))
    .map(([pattern, group]) => ({
      pattern,
      template: group[0]?.path ?? pattern,
      parameters: parameterNames(group[0]?.path ?? "").length,
      routes: new Map(group.map((endpoint) => [endpoint.method, toRoute(endpoint)])),
      methods: listMethods(group),
    }));
}

/** `/process/:0/pause` is `0010`: of two patterns of equal length, the one with the earlier literal segment comes first. */
const orderOf = (pattern: string): string =>
  pattern
    .split("/")
    .map((segment) => (segment.startsWith(":") ? 1 : 0))
    .join("");

function listMethods(group: readonly AnyEndpoint[]): string {
  const methods = group.map(({ method }) => method);
  const twice = methods.find((method, i) => methods.indexOf(method) !== i);
  if (twice !== undefined) throw new Error(`two endpoints define ${twice} ${group[0]?.path}`);
  return [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
}

function toRoute(endpoint: AnyEndpoint): Route {
  const answers = Object.entries(endpoint.answers).flatMap(([status, { schema }]) =>
    schema === undefined ? [] : [[Number(status), checkBy(schema)] as const],
  );
  const names = parameterNames(endpoint.path);
  const params = names.map((name) => [name, parameterSchema(endpoint, name)]);
  return {
    endpoint,
    names,
    checkParams: checkAndFillBy(Type.Object(Object.fromEntries(params))),
    checkQuery: checkAndFillBy(endpoint.query ?? NO_QUERY),
    checkBody: endpoint.body === undefined ? null : checkBodyOf(endpoint),
    checkAnswer: new Map(answers),
  };
}

/**
 * `PATCH` rejects what cannot be changed. A whole record, which has its `uuid`, can be sent back as it was read: what
 * cannot be changed, most of which the service itself changes, is ignored then.
 */
function checkBodyOf({ method, body, answers }: AnyEndpoint): Check {
  const check = checkAndFillBy(body);
  if (method !== "PATCH") return check;
  const record = (answers[200]?.schema as TObject | undefined)?.properties ?? {};
  const others = Object.keys(record).filter((name) => !Object.hasOwn(body.properties ?? {}, name));
  if (others.length === 0) return check;
  const ignored = Object.fromEntries(others.map((name) => [name, {}]));
  const checkRecord = checkAndFillBy({ ...body, properties: { ...ignored, ...body.properties } });
  const changeable = listChoices(Object.keys(body.properties ?? {}));
  return (value) => {
    const isRecord = typeof value === "object" && value !== null && Object.hasOwn(value, "uuid");
    if (isRecord && others.includes("uuid")) return checkRecord(value);
    return check(value).map((fault) =>
      others.includes(fault.path.slice(1)) ? { ...fault, message: `cannot be changed; ${changeable} can` } : fault,
    );
  };
}

/** Null if a value does not match its schema: the path does not exist. */
export function readParams({ names, checkParams }: Route, values: readonly string[]): Record<string, string> | null {
  const params = Object.fromEntries(names.map((name, i) => [name, values[i] ?? ""]));
  return checkParams(params).length === 0 ? params : null;
}
