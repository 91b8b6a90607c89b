/** Authentication by API keys and signed URLs, scopes of keys, and request limits per key. */
import type { ServerResponse } from "node:http";
import type { Config } from "../../schemas/config.ts";
import { TokenBuckets } from "../async/token-buckets.ts";
import type { Authenticate } from "../keys/authenticate.ts";
import { expectScope } from "../keys/scopes.ts";
import { readCredential } from "../keys/sessions.ts";
import { goingOn } from "../keys/signed-urls.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import type { ApiCall, ApiMiddleware } from "./context.ts";
import type { Access, AnyEndpoint } from "./endpoint.ts";
import { expectUsable } from "./source-limits.ts";

/** Whether the token is valid for a resource: `source/<uuid>`. */
export type IsSigned = (resource: string, token: string) => boolean;

const KEY_IN_URL: readonly string[] = ["url-key", "signed"] satisfies Access[];

/** Query parameters that may have a credential. */
export const urlCredentials = (access: Access): readonly string[] => [
  ...(KEY_IN_URL.includes(access) ? ["api_key"] : []),
  ...(access === "signed" ? ["token"] : []),
];

export class AccessControl {
  readonly #authenticate: Authenticate;
  readonly #isSigned: IsSigned;
  readonly #requestsPerKey: number;
  readonly #buckets = new TokenBuckets();
  /** Open requests by user. */
  readonly #open = new Map<string, number>();

  constructor(authenticate: Authenticate, isSigned: IsSigned, { requests_per_key }: Config["http"]) {
    this.#authenticate = authenticate;
    this.#isSigned = isSigned;
    this.#requestsPerKey = requests_per_key;
  }

  /** Middleware of the requests to an endpoint. */
  admitTo(endpoint: AnyEndpoint): ApiMiddleware {
    return async ({ env: { call } }, next) => {
      await this.#admit(endpoint, call);
      await next();
    };
  }

  /** Sets the user of the call, unless no key is needed or the URL is signed, and counts against the limits of the key. */
  async #admit(endpoint: AnyEndpoint, call: ApiCall): Promise<void> {
    const access: Access = endpoint.access;
    if (access === "none" || (access === "signed" && this.#hasSignature(endpoint, call))) return;
    const credential = readCredential(call.raw, {
      ...{ publicUrl: call.publicUrl, isPassedOn: call.hop !== null, acceptsUrl: KEY_IN_URL.includes(access) },
    });
    const key = credential?.key ?? null;
    call.credential = credential;
    if (access === "optional") {
      // An invalid key is treated as no key: such endpoints answer even while the database is unavailable.
      if (key !== null) call.user = await this.#authenticate(key, call.address).catch(() => null);
      return;
    }
    const user = await this.#authenticate(key, call.address);
    call.user = user;
    if (endpoint.scope !== null) expectScope(user, endpoint.scope);
    expectUsable(endpoint, user);
    this.#countOpen(user, call.outgoing);
    // Video arrives in many small requests; the media hub has limits of its own. The node that passed it on has counted it.
    if (access !== "signed" && call.hop === null) this.#countRequest(user, call);
  }

  /** Throws when there is a token, no key, and the token is not valid. */
  #hasSignature(
    { path, acceptsSessionToken, signedPart = "" }: AnyEndpoint,
    { params, search, headers }: ApiCall,
  ): boolean {
    const token = search.get("token");
    if (token === null) return false;
    const [, kind, name = ""] = path.split("/");
    const resource = `${kind}/${params[name.slice(1, -1)]}${signedPart}`;
    if (this.#isSigned(resource, token)) return true;
    if (acceptsSessionToken?.(params) === true && this.#isSigned(goingOn(resource), token)) return true;
    if (headers.api_key !== undefined || search.has("api_key")) return false;
    throw new ServiceError("signature_invalid", {
      detail: "This URL has expired or is for another resource; request a new one, or send your API key.",
    });
  }

  #countOpen({ uuid }: User, outgoing: ServerResponse): void {
    const count = this.#open.get(uuid) ?? 0;
    const limit = this.#requestsPerKey;
    if (count >= limit)
      throw new ServiceError("rate_limited", {
        detail: `${count} requests of this key are open; the limit is ${limit}. Wait for one to finish, or close a stream.`,
        retryAfterSeconds: 1,
      });
    if (outgoing.closed) return;
    this.#open.set(uuid, count + 1);
    outgoing.once("close", () => {
      const left = (this.#open.get(uuid) ?? 1) - 1;
      if (left === 0) this.#open.delete(uuid);
      else this.#open.set(uuid, left);
    });
  }

  #countRequest({ uuid, limits: { requestsPerMinute } }: User, call: ApiCall): void {
    const waitSeconds = this.#buckets.take(uuid, requestsPerMinute);
    const { tokens, fullSeconds } = this.#buckets.left(uuid, requestsPerMinute);
    // https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
    call.limitHeaders = {
      "RateLimit-Policy": `"key";q=${requestsPerMinute};w=60`,
      RateLimit: `"key";r=${tokens};t=${fullSeconds}`,
    };
    if (waitSeconds === 0) return;
    throw new ServiceError("rate_limited", {
      detail: `Request limit reached for this key: ${requestsPerMinute} per minute.`,
      retryAfterSeconds: waitSeconds,
    });
  }
}
