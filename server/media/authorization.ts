/** Which clients may publish to and play from the media hub, and what is recorded. */
import { createHash, randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { originOf } from "../../schemas/client-origin.ts";
import type { Authorization, AuthorizeRequest } from "../../schemas/hub.ts";
import { TokenBuckets } from "../async/token-buckets.ts";
import { hasScope, lacksScope } from "../keys/scopes.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findPathNames, type NamingSource } from "../store/hub-paths.ts";
import type { User } from "../user.ts";
import { type ClusterStreams, publishedElsewhere } from "./cluster-streams.ts";
import type { RejectedPublisher } from "./stream-log.ts";

type RefusalKind = NonNullable<Authorization["refusal"]>["kind"];

/** The stream that is recorded, and its owner. */
export interface RecordingSubject {
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly alias: string;
  /** Of the stream. */
  readonly path: string;
}

interface AuthorizerDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly tokens: RunTokens;
  readonly keys: {
    authenticate(key: string, address: string): Promise<User>;
    isKnown(key: string): boolean;
  };
  readonly wrongKeys: WrongKeys;
  /** Streams that one key may publish at once. */
  readonly maxPublished: number;
  livePaths(): readonly string[];
  /** Absent: there are no other nodes. */
  readonly elsewhere?:
    | Pick<ClusterStreams, "claim" | "claimForRunner" | "isToken" | "allows" | "refresh" | "keyPaths">
    | undefined;
  /** Delay of responses to an address with too many wrong keys. */
  sleep(): Promise<void>;
  /** The name of its recording; null for none. */
  nameRecording(subject: RecordingSubject): string | null;
  /** A client was authorized for this path by a key, which may be revoked later. */
  onKeyUsed(path: string, key: string): void;
  /** A publisher was rejected. Not called for runners. */
  onRejected?(rejected: RejectedPublisher): void;
}

const NO_KEY = "Send your API key as the password, or as ?api_key= in the URL.";
const WRONG_KEY = "This API key does not exist or has been revoked.";
const TOO_MANY = "Too many wrong keys from this address; responses to it are delayed for a while.";

const grant = (recording: string | null = null): Authorization => ({ refusal: null, recording });
const reject = (kind: RefusalKind, detail: string): Authorization => ({ refusal: { kind, detail }, recording: null });

export class Authorizer {
  readonly #deps: AuthorizerDeps;
  readonly #quota: PublisherQuota;

  constructor(deps: AuthorizerDeps) {
    const { maxPublished, tokens, livePaths, elsewhere } = deps;
    this.#deps = deps;
    this.#quota = new PublisherQuota(maxPublished, () => [
      ...livePaths().filter((path) => !tokens.publishes(path)),
      ...(elsewhere?.keyPaths ?? []),
    ]);
  }

  /** Never rejects. A client without access to a path does not learn whether the path exists. */
  async authorize(request: AuthorizeRequest): Promise<Authorization> {
    const { secret, path } = request;
    const { tokens, elsewhere } = this.#deps;
    if (secret !== null && (tokens.isToken(secret) || elsewhere?.isToken(secret))) return this.#authorizeToken(request);
    const { authorization, owner } = await this.#authorizeKey(request);
    this.#noteRejected(request, authorization, owner === path.split("/")[0]);
    return authorization;
  }

  #noteRejected(
    { action, path, protocol }: Pick<AuthorizeRequest, "action" | "path" | "protocol">,
    { refusal }: Authorization,
    isAuthenticated: boolean,
  ): void {
    if (action !== "publish" || refusal === null) return;
    this.#deps.onRejected?.({ path, protocol, reason: refusal.detail, isAuthenticated });
  }

  async #authorizeToken(request: AuthorizeRequest): Promise<Authorization> {
    const { action, path } = request;
    const secret = request.secret ?? "";
    const { tokens, elsewhere } = this.#deps;
    if (tokens.isToken(secret))
      return tokens.allows(secret, action, path) ? this.#grantRunner(request) : reject("unauthorized", WRONG_KEY);
    return elsewhere?.allows(secret, action, path) === true
      ? { ...grant(), isRelay: true }
      : reject("unauthorized", "The token of the relay is not valid.");
  }

  /** `owner`: the name of the user whose key it is. */
  async #authorizeKey(
    request: AuthorizeRequest,
  ): Promise<{ readonly authorization: Authorization; readonly owner?: string }> {
    const { secret, address } = request;
    const { keys, wrongKeys, sleep } = this.#deps;
    const refuse = (kind: RefusalKind, detail: string) => ({ authorization: reject(kind, detail) });
    if (secret === null || secret === "") return refuse("unauthorized", NO_KEY);
    const isSlow = wrongKeys.isSlow(address) && !keys.isKnown(secret);
    // Before the lookup: this limits the number of guesses.
    if (isSlow) await sleep();
    try {
      const user = await keys.authenticate(secret, address);
      return { authorization: await this.#authorizeUser(user, request), owner: user.username };
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : null;
      if (code === "api_key_expired") return refuse("unauthorized", (error as ServiceError).message);
      if (code === "api_key_invalid") return isSlow ? refuse("slow_down", TOO_MANY) : refuse("unauthorized", WRONG_KEY);
      this.#deps.log.warn({ err: error }, "key of a hub client could not be checked");
      return refuse("unavailable", "The key cannot be checked at the moment; try again soon.");
    }
  }

  async #grantRunner({ action, path }: AuthorizeRequest): Promise<Authorization> {
    const { elsewhere } = this.#deps;
    const isPlayer = action === "play" || elsewhere === undefined;
    const mayPublish = isPlayer || (await elsewhere.claimForRunner(path));
    return mayPublish ? { ...grant(), isOwn: true } : reject("busy", publishedElsewhere(path));
  }

  /** For a user whose key has been checked. */
  async authorizeUser(
    user: User,
    request: Pick<AuthorizeRequest, "action" | "path" | "protocol">,
  ): Promise<Authorization> {
    const authorization = await this.#authorizeUser(user, request);
    this.#noteRejected(request, authorization, user.username === request.path.split("/")[0]);
    return authorization;
  }

  async #authorizeUser(
    user: User,
    { action, path, protocol }: Pick<AuthorizeRequest, "action" | "path" | "protocol">,
  ): Promise<Authorization> {
    const { sql, onKeyUsed, nameRecording, maxPublished, elsewhere } = this.#deps;
    if (path.split("/")[0] !== user.username)
      return reject("forbidden", `This key is only valid for paths below /${user.username}/.`);
    const needed = action === "publish" ? "publish" : "read";
    if (!hasScope(user.key.scopes, needed)) return reject("forbidden", lacksScope(user.key.scopes, needed));
    const { sources, hasOutput } = await findPathNames(sql, user, path);
    const source = chooseSource(sources, protocol);
    if (source === null && !hasOutput)
      return reject("unknown", `No source is registered at /${path}: register it first (POST /stream).`);
    if (action === "publish" && source === null)
      return reject("forbidden", `/${path} is the path of an rtsp output: only its process publishes there.`);
    const key = user.key.uuid;
    onKeyUsed(path, key);
    if (action === "play" || source === null) return { ...grant(), key };
    await elsewhere?.refresh();
    if (!this.#quota.take(user.username, path))
      return reject(
        "forbidden",
        `Stream limit reached: this key publishes ${maxPublished} streams already; end one first.`,
      );
    if (elsewhere !== undefined && !(await elsewhere.claim(path, true)))
      return reject("busy", publishedElsewhere(path));
    // Others are recorded when they need to be, once they are live.
    if (!source.isRecorded) return { ...grant(), key };
    const recording = nameRecording({ userUuid: user.uuid, sourceUuid: source.uuid, alias: source.alias, path });
    return { ...grant(recording), key };
  }
}

/** Of several sources with one path, the one with this protocol, else the newest. */
const chooseSource = (sources: readonly NamingSource[], protocol: string): NamingSource | null =>
  sources.find(({ streamType }) => streamType === protocol) ?? sources[0] ?? null;

/** An authorized client is live by then, or has gone. */
const PENDING_MS = 10_000;

/** Limits the streams that each user publishes: the live ones, and those just authorized. */
export class PublisherQuota {
  readonly #max: number;
  readonly #livePaths: () => readonly string[];
  readonly #now: () => number;
  /** Time of the authorization, by path. */
  readonly #pending = new Map<string, number>();

  /** `livePaths`: only those published with a key. */
  constructor(max: number, livePaths: () => readonly string[], now = () => performance.now()) {
    this.#max = max;
    this.#livePaths = livePaths;
    this.#now = now;
  }

  /** False: limit reached. A path counts once. */
  take(username: string, path: string): boolean {
    for (const [pending, sinceMs] of this.#pending)
      if (sinceMs <= this.#now() - PENDING_MS) this.#pending.delete(pending);
    const prefix = `${username}/`;
    const taken = new Set([...this.#livePaths(), ...this.#pending.keys()].filter((other) => other.startsWith(prefix)));
    taken.delete(path);
    if (taken.size >= this.#max) return false;
    this.#pending.set(path, this.#now());
    return true;
  }
}

/** Wrong keys sent to the hub, by address. An address with too many gets delayed responses; no client is locked out. */
export class WrongKeys {
  readonly #perMinute: number;
  readonly #buckets = new TokenBuckets();

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  isSlow(address: string): boolean {
    return this.#buckets.peek(originOf(address), this.#perMinute) > 0;
  }

  begin(): void {}

  end(address: string, wasWrong: boolean): void {
    if (wasWrong) this.#buckets.take(originOf(address), this.#perMinute);
  }
}

export type Action = "publish" | "play";

const TOKEN_BYTES = 32;
/** Distinguishes tokens from keys: a secret with this prefix is never looked up as a key. */
const TOKEN_PREFIX = "run_";

/** Tokens of runners: each allows one action on one path until it is revoked. Only this server knows them. */
export class RunTokens {
  /** By digest, so that the time of a lookup reveals nothing about the token. */
  readonly #rights = new Map<string, { readonly action: Action; readonly path: string }>();

  get size(): number {
    return this.#rights.size;
  }

  issue(action: Action, path: string): { readonly token: string; revoke(): void } {
    const token = `${TOKEN_PREFIX}${randomBytes(TOKEN_BYTES).toString("base64url")}`;
    const digest = digestOf(token);
    this.#rights.set(digest, { action, path });
    return { token, revoke: () => void this.#rights.delete(digest) };
  }

  isToken(secret: string): boolean {
    return secret.startsWith(TOKEN_PREFIX);
  }

  /** A runner may publish there. */
  publishes(path: string): boolean {
    for (const right of this.#rights.values()) if (right.action === "publish" && right.path === path) return true;
    return false;
  }

  allows(token: string, action: Action, path: string): boolean {
    const right = this.#rights.get(digestOf(token));
    return right?.action === action && right.path === path;
  }
}

const digestOf = (token: string): string => createHash("sha256").update(token).digest("base64");
