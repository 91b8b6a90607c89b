/** Endpoints grouped by path, with their validators. */
import { type TObject, type TSchema, Type } from "typebox";
import { Uuid } from "../../schemas/api/records.ts";
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
    checkBody: endpoint.body === undefined ? null : checkAndFillBy(bodySchema(endpoint)),
    checkAnswer: new Map(answers),
  };
}

/** A record can be sent back to `PATCH` as it was read: what cannot be changed is ignored. */
function bodySchema({ method, body, answers }: AnyEndpoint): TSchema {
  if (method !== "PATCH") return body;
  const read = Object.keys((answers[200]?.schema as TObject | undefined)?.properties ?? {});
  return { ...body, properties: { ...Object.fromEntries(read.map((name) => [name, {}])), ...body.properties } };
}

/** Null if a value does not match its schema: the path does not exist. */
export function readParams({ names, checkParams }: Route, values: readonly string[]): Record<string, string> | null {
  const params = Object.fromEntries(names.map((name, i) => [name, values[i] ?? ""]));
  return checkParams(params).length === 0 ? params : null;
}
