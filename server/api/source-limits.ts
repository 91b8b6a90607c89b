/**
 * Keys that are limited to sources: a request that names another source, or something that belongs to another source, is
 * answered as if that did not exist; listings show only what belongs to these sources; everything else is rejected.
 */
import type { ErrorCode } from "../../schemas/errors.ts";
import { ServiceError } from "../service-error.ts";
import type { ResourceKind } from "../store/source-of.ts";
import type { User } from "../user.ts";
import type { ApiCall, ApiMiddleware } from "./context.ts";
import type { AnyEndpoint } from "./endpoint.ts";
import { kindOf } from "./resource-names.ts";

/** Null: it belongs to none, or to another user, or does not exist. */
export type FindSourceOf = (kind: ResourceKind, userUuid: string, uuid: string) => Promise<string | null>;

/** Rejects with `unlimited_key_needed`. */
export function expectUsable({ sources }: AnyEndpoint, { key }: User): void {
  if (key.sourceUuids === null || sources !== null) return;
  throw new ServiceError("unlimited_key_needed", {
    detail: "This key is limited to some sources; what this request reads or changes does not belong to one source.",
  });
}

/** Middleware of an endpoint, after its input is validated. */
export function limitSources(endpoint: AnyEndpoint, find: FindSourceOf): ApiMiddleware {
  return async ({ env: { call } }, next) => {
    const { user } = call;
    const sourceUuids = user?.key.sourceUuids ?? null;
    if (user !== null && sourceUuids !== null) {
      for (const [kind, uuid] of listNamed(endpoint, call))
        await expectWithin({ user, kind, uuid, find }, endpoint.errors);
      // Reaches `fetchPage`.
      if (endpoint.sources === "listed") call.query = { ...(call.query as object), sourceUuids };
    }
    await next();
  };
}

function listNamed({ method }: AnyEndpoint, { params, query, body }: ApiCall): readonly [ResourceKind, string][] {
  return [params, query, body]
    .flatMap((given) => (typeof given === "object" && given !== null ? Object.entries(given) : []))
    .flatMap(([name, value]): [ResourceKind, string][] => {
      const kind = kindOf(name, method);
      return kind === undefined || typeof value !== "string" ? [] : [[kind, value]];
    });
}

interface Naming {
  readonly user: User;
  readonly kind: ResourceKind;
  readonly uuid: string;
  readonly find: FindSourceOf;
}

/** Rejects as if it did not exist, with an error that the endpoint declares. */
export async function expectWithin({ user, kind, uuid, find }: Naming, declared?: readonly ErrorCode[]): Promise<void> {
  const { sourceUuids } = user.key;
  if (sourceUuids === null) return;
  const source = await find(kind, user.uuid, uuid);
  if (source !== null && sourceUuids.includes(source)) return;
  const own: ErrorCode = `${kind}_not_found`;
  const other = declared?.find((code) => code.endsWith("_not_found")) ?? "path_not_found";
  const code = declared === undefined || declared.includes(own) ? own : other;
  throw new ServiceError(code, { detail: `you have no ${kind} ${uuid}` });
}
