/** Sign-in through an OpenID Connect provider: authorization code with PKCE, state and nonce; from claims to a session. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Logger } from "pino";
import type { Scope } from "../../schemas/api/keys.ts";
import type { SignInFault } from "../../schemas/api/sign-in.ts";
import type { Config } from "../../schemas/config.ts";
import { insertSession } from "../store/api-keys.ts";
import type { Sql } from "../store/client.ts";
import { findUserByName } from "../store/users.ts";
import { digestKey, makeKey } from "./keys.ts";

type Client = typeof import("openid-client");
type Provider = import("openid-client").Configuration;
type Claims = Readonly<Record<string, unknown>>;

export type OidcConfig = Config["oidc"];

/** Of requests to the provider. */
const TIMEOUT_SECONDS = 10;
/** After this time the description of the provider is read again. */
const FRESH_MS = 3_600_000;
/** A sign-in takes at most this long. */
export const PENDING_SECONDS = 600;

/** Reaches the user as a code only; the details are logged. */
export class SignInError extends Error {
  override readonly name = "SignInError";
  readonly fault: SignInFault;

  constructor(fault: SignInFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}

/** What the browser keeps, signed, between the way to the provider and back. */
interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly endsMs: number;
}

export interface SignedIn {
  readonly key: string;
  readonly username: string;
  readonly person: string;
  readonly scopes: readonly Scope[];
}

interface OidcDeps {
  readonly sql: Sql;
  readonly config: OidcConfig;
  readonly log: Logger;
  /** Of this installation. */
  readonly secret: Uint8Array;
}

export class Oidc {
  readonly #deps: OidcDeps;
  #found: { readonly provider: Promise<Provider>; readonly askedMs: number } | null = null;

  constructor(deps: OidcDeps) {
    this.#deps = deps;
  }

  get isEnabled(): boolean {
    return this.#deps.config.issuer !== null;
  }

  get name(): string {
    const { name, issuer } = this.#deps.config;
    return name ?? (issuer === null ? "" : new URL(issuer).host);
  }

  /** The address of the provider, and what the browser has to bring back with it. Rejects with `SignInError`. */
  async begin(redirectUri: string): Promise<{ readonly url: string; readonly pending: string }> {
    const client = await loadClient();
    const provider = await this.#discover(client);
    const verifier = client.randomPKCECodeVerifier();
    const [state, nonce] = [client.randomState(), client.randomNonce()];
    const url = client.buildAuthorizationUrl(provider, {
      ...{ redirect_uri: redirectUri, scope: this.#deps.config.scope, state, nonce },
      ...{ code_challenge: await client.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256" },
    });
    return {
      url: url.href,
      pending: this.#seal({ state, nonce, verifier, endsMs: Date.now() + PENDING_SECONDS * 1000 }),
    };
  }

  /**
   * The browser is back. Rejects with `SignInError`.
   * @param address that of the request, as registered with the provider, with its query
   * @param pending as `begin` returned it; null: the browser did not send it
   */
  async finish(address: URL, pending: string | null): Promise<SignedIn> {
    const { log, config } = this.#deps;
    const { state, nonce, verifier } = this.#open(pending);
    if (address.searchParams.has("error"))
      throw new SignInError("denied", `the provider answered ${JSON.stringify(address.searchParams.get("error"))}`);
    const client = await loadClient();
    const provider = await this.#discover(client);
    let claims: Claims;
    try {
      const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
      const tokens = await client.authorizationCodeGrant(provider, address, checks);
      const own = tokens.claims() ?? {};
      const { sub } = own as { sub?: string };
      const hasAll = [config.role_claim, config.account_claim].every(
        (name) => name === null || find(own, name) !== undefined,
      );
      const more = hasAll || sub === undefined || provider.serverMetadata().userinfo_endpoint === undefined;
      claims = more ? own : { ...(await client.fetchUserInfo(provider, tokens.access_token, sub)), ...own };
    } catch (cause) {
      throw new SignInError("provider", "the sign-in could not be completed with the provider", cause);
    }
    const signedIn = await this.#createSession(claims);
    log.info({ username: signedIn.username, person: signedIn.person, scopes: signedIn.scopes }, "person signed in");
    return signedIn;
  }

  async #createSession(claims: Claims): Promise<SignedIn> {
    const { sql, config } = this.#deps;
    const person = String(claims.preferred_username ?? claims.email ?? claims.name ?? claims.sub).slice(0, 200);
    const scopes = readRole(claims, config);
    if (scopes === null)
      throw new SignInError(
        "no_role",
        `${person} has none of the values of oidc.viewers, oidc.operators and oidc.admins`,
      );
    const username = readAccount(claims, config);
    const account = username === null ? null : await findUserByName(sql, username);
    if (account === null || account.revokedAt !== null)
      throw new SignInError("no_account", `there is no account ${JSON.stringify(username)} for ${person}`);
    const key = makeKey();
    const digest = digestKey(key);
    if (digest === null) throw new Error("a generated key is not valid");
    await insertSession(sql, {
      ...{ userUuid: account.uuid, name: "console", person, scopes, sourceUuids: null },
      ...{ keyId: digest.id, keySha256: digest.sha256 },
      expiresAt: new Date(Date.now() + config.session_seconds * 1000),
    });
    return { key, username: account.username, person, scopes };
  }

  /** Read once per hour, by one of several simultaneous sign-ins. */
  #discover(client: Client): Promise<Provider> {
    const known = this.#found;
    if (known !== null && performance.now() - known.askedMs < FRESH_MS) return known.provider;
    const { issuer, client_id, client_secret } = this.#deps.config;
    if (issuer === null) throw new SignInError("provider", "oidc.issuer is not set");
    const server = new URL(issuer);
    const provider = client
      .discovery(
        server,
        client_id,
        undefined,
        client_secret === null ? client.None() : client.ClientSecretPost(client_secret),
        {
          timeout: TIMEOUT_SECONDS,
          // Accepted by the configuration for this machine only.
          execute: server.protocol === "http:" ? [client.allowInsecureRequests] : [],
        },
      )
      .catch((cause: unknown) => {
        this.#found = null;
        throw new SignInError("provider", "the description of the provider could not be read", cause);
      });
    this.#found = { provider, askedMs: performance.now() };
    return provider;
  }

  #seal(pending: Pending): string {
    const text = Buffer.from(JSON.stringify(pending)).toString("base64url");
    return `${text}.${this.#mac(text).toString("base64url")}`;
  }

  #open(sealed: string | null): Pending {
    const [text = "", mac = ""] = (sealed ?? "").split(".");
    const [given, right] = [Buffer.from(mac, "base64url"), this.#mac(text)];
    if (given.length !== right.length || !timingSafeEqual(given, right))
      throw new SignInError("expired", "the browser did not bring the cookie of its sign-in back");
    const pending = JSON.parse(Buffer.from(text, "base64url").toString()) as Pending;
    if (pending.endsMs <= Date.now()) throw new SignInError("expired", "the sign-in took too long");
    return pending;
  }

  #mac(text: string): Buffer {
    return createHmac("sha256", this.#deps.secret).update(`windhover sign-in\n${text}`).digest();
  }
}

/** Loaded with the first sign-in. */
const loadClient = (): Promise<Client> => import("openid-client");

/** `realm_access.roles` is a claim in a claim, unless a claim has this name as it is. */
function find(claims: Claims, name: string): unknown {
  if (name in claims) return claims[name];
  return name
    .split(".")
    .reduce<unknown>(
      (value, part) => (isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined),
      claims,
    );
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** The highest role that the claim has a value of; null: none. */
export function readRole(claims: Claims, config: Pick<OidcConfig, "role_claim" | "admins" | "operators" | "viewers">) {
  const claim = find(claims, config.role_claim);
  const values = [claim].flat().map(String);
  const roles: readonly (readonly [readonly string[], Scope])[] = [
    [config.admins, "admin"],
    [config.operators, "operate"],
    [config.viewers, "read"],
  ];
  const role = claim === undefined ? undefined : roles.find(([names]) => names.some((name) => values.includes(name)));
  return role === undefined ? null : ([role[1]] as const);
}

export function readAccount(claims: Claims, config: Pick<OidcConfig, "account" | "account_claim">): string | null {
  const value = config.account_claim === null ? undefined : find(claims, config.account_claim);
  return typeof value === "string" ? value : config.account;
}
