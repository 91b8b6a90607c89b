/** Authentication by API keys and signed URLs, and request limits per key. */
import type { ServerResponse } from "node:http";
import type { Config } from "../../schemas/config.ts";
import type { TokenBuckets } from "../async/token-buckets.ts";
import type { Authenticate } from "../keys/authenticate.ts";
import { goingOn } from "../keys/signed-urls.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import type { ApiMiddleware, RequestInfo } from "./context.ts";
import type { Access, AnyEndpoint } from "./endpoint.ts";

/** Whether the token is valid for a resource: `source/<uuid>`. */
export type IsSigned = (resource: string, token: string) => boolean;

export interface AccessDeps {
  readonly http: Pick<Config["http"], "requests_per_key">;
  readonly authenticate: Authenticate;
  readonly isSigned: IsSigned;
  readonly buckets: TokenBuckets;
}

const KEY_IN_URL: readonly string[] = ["url-key", "bearer", "signed"] satisfies Access[];

/** Sets `user`: null if no key is needed, or the URL is signed. */
export function authenticate(endpoint: AnyEndpoint, deps: AccessDeps): ApiMiddleware {
  const { access } = endpoint;
  if (access === "none") return (_, next) => next();
  return async (context, next) => {
    const { info } = context.var;
    const { headers } = context.env.incoming;
    if (access === "signed" && isSigned(endpoint, deps, context.var.params, info, headers.api_key !== undefined))
      return next();
    const bearer = access === "bearer" ? readBearer(headers.authorization) : null;
    const inUrl = KEY_IN_URL.includes(access) ? info.search.get("api_key") : null;
    const { api_key: header } = headers;
    const key = (typeof header === "string" && header !== "" ? header : null) ?? bearer ?? inUrl;
    const user = await findUser(access, key, deps, info.address);
    context.set("user", user);
    info.username = user?.username ?? null;
    return next();
  };
}

async function findUser(
  access: Access,
  key: string | null,
  { authenticate: authenticateKey }: AccessDeps,
  address: string,
): Promise<User | null> {
  if (access !== "optional") return authenticateKey(key, address);
  // An invalid key is treated as no key: such endpoints answer even while the database is unavailable.
  return key === null ? null : authenticateKey(key, address).catch(() => null);
}

/** Throws when there is a token, no key, and the token is not valid. */
function isSigned(
  { path, acceptsSessionToken }: AnyEndpoint,
  deps: AccessDeps,
  params: Readonly<Record<string, string>>,
  { search }: RequestInfo,
  hasKey: boolean,
): boolean {
  const token = search.get("token");
  if (token === null) return false;
  const [, kind, name = ""] = path.split("/");
  const resource = `${kind}/${params[name.slice(1, -1)]}`;
  if (deps.isSigned(resource, token)) return true;
  if (acceptsSessionToken?.(params) === true && deps.isSigned(goingOn(resource), token)) return true;
  if (hasKey || search.has("api_key")) return false;
  throw new ServiceError("signature_invalid", {
    detail: "This URL has expired or is for another resource; request a new one, or send your API key.",
  });
}

/** Limits of one key: open requests, and requests per minute. */
export function limitRequests(
  { access }: AnyEndpoint,
  { http, buckets }: AccessDeps,
  open: OpenRequests,
): ApiMiddleware {
  if (access === "none" || access === "optional") return (_, next) => next();
  return (context, next) => {
    const { user } = context.var;
    if (user === null) return next();
    open.add(user, context.env.outgoing as ServerResponse, http.requests_per_key);
    // Video arrives in many small requests; the media hub has limits of its own.
    if (access === "signed") return next();
    const waitSeconds = buckets.take(user.uuid, user.limits.requestsPerMinute);
    if (waitSeconds === 0) return next();
    throw new ServiceError("rate_limited", {
      detail: `Request limit reached for this key: ${user.limits.requestsPerMinute} per minute.`,
      retryAfterSeconds: waitSeconds,
    });
  };
}

/** Open requests by user. */
export class OpenRequests {
  readonly #counts = new Map<string, number>();

  add({ uuid }: User, outgoing: ServerResponse, limit: number): void {
    const count = this.#counts.get(uuid) ?? 0;
    if (count >= limit)
      throw new ServiceError("rate_limited", {
        detail: `${count} requests of this key are open; the limit is ${limit}. Wait for one to finish, or close a stream.`,
        retryAfterSeconds: 1,
      });
    if (outgoing.closed) return;
    this.#counts.set(uuid, count + 1);
    outgoing.once("close", () => {
      const left = (this.#counts.get(uuid) ?? 1) - 1;
      if (left === 0) this.#counts.delete(uuid);
      else this.#counts.set(uuid, left);
    });
  }
}

const readBearer = (authorization: string | undefined): string | null =>
  /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? null;
