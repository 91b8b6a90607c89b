/** Query and body of a request, checked: every fault of both at once. */
import { originOf } from "../../schemas/client-origin.ts";
import type { Config } from "../../schemas/config.ts";
import { type InputFault, ServiceError } from "../service-error.ts";
import type { Exchange } from "./exchange.ts";
import { readJson } from "./read-body.ts";
import { readQuery } from "./read-query.ts";
import type { RequestScheduler } from "./request-scheduler.ts";
import type { Route } from "./routes.ts";
import { findUnsound, judgeText } from "./sound-values.ts";

const MOST_FAULTS = 100;

export interface Input {
  readonly query: unknown;
  readonly body: unknown;
}

export interface InputNeeds {
  readonly http: Config["http"];
  readonly scheduler: RequestScheduler;
}

/** Rejects with `ServiceError`. */
export async function readInput(
  exchange: Exchange,
  route: Route,
  search: URLSearchParams,
  needs: InputNeeds,
): Promise<Input> {
  const query = takeQuery(route, search);
  const body = await takeBody(exchange, route, needs);
  const faults = [...query.faults, ...body.faults];
  if (faults.length > 0) throw invalidInput(faults);
  return { query: query.value, body: body.value };
}

interface Taken {
  readonly value: unknown;
  readonly faults: readonly InputFault[];
}

function takeQuery({ endpoint, checkQuery }: Route, search: URLSearchParams): Taken {
  if (checkQuery === null) return { value: {}, faults: [] };
  const { values, faults } = readQuery(search, endpoint.query);
  const misfits = checkQuery(values).map(({ path, message }) => ({ path: path.slice(1), message }));
  const unsound = Object.entries(values).flatMap(([path, value]) => {
    const message = typeof value === "string" ? judgeText(value) : null;
    return message === null ? [] : [{ path, message }];
  });
  return { value: values, faults: [...faults, ...misfits, ...unsound] };
}

async function takeBody(
  { incoming, outgoing, address }: Exchange,
  route: Route,
  { http, scheduler }: InputNeeds,
): Promise<Taken> {
  const { endpoint, checkBody } = route;
  if (checkBody === null) return { value: undefined, faults: [] };
  const limits = {
    bytes: http.body_bytes,
    seconds: http.request_seconds,
    waitUntilScheduled: () => scheduler.scheduleExpensive(originOf(address)),
  };
  const isOptional = endpoint.isBodyOptional === true;
  const read = await readJson(incoming, outgoing, limits, isOptional);
  // Clients that always send JSON say `null` when they have nothing to say.
  const value = isOptional ? (read ?? {}) : read;
  const unsound = findUnsound(value);
  // What nests without end is not worth checking.
  return { value, faults: unsound.length > 0 ? unsound : checkBody(value) };
}

function invalidInput(faults: readonly InputFault[]): ServiceError {
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : "";
  return new ServiceError("invalid_input", {
    detail: `${first?.path || "The body"} ${first?.message}${more}.`,
    errors: faults.slice(0, MOST_FAULTS),
  });
}
