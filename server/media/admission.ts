/** Whom the media hub lets in, and what it records of them. */
import type { Logger } from "pino";
import type { AuthorizeRequest, HubVerdict } from "../../schemas/hub.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findPathNames, type NamingSource } from "../store/hub-paths.ts";
import type { User } from "../user.ts";
import { PublishingPlaces } from "./publishing-places.ts";
import type { RunTokens } from "./run-tokens.ts";
import type { WrongKeys } from "./wrong-keys.ts";

export type Judgement = Pick<HubVerdict, "refusal" | "recording" | "isOwn">;
type RefusalKind = NonNullable<HubVerdict["refusal"]>["kind"];

/** What is recorded, and whose it is. */
export interface RecordingSubject {
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly alias: string;
  /** Of the stream. */
  readonly path: string;
}

export interface AdmissionNeeds {
  readonly sql: Sql;
  readonly log: Logger;
  readonly tokens: RunTokens;
  readonly keys: {
    authenticate(key: string, address: string): Promise<User>;
    isKnown(key: string): boolean;
  };
  readonly wrongKeys: WrongKeys;
  /** Streams that one key may publish at once. */
  readonly mostPublished: number;
  /** Paths that can be played now. */
  livePaths(): readonly string[];
  /** For as long as an address that is answered slowly has to wait. */
  sleep(): Promise<void>;
  /** The name under which it is recorded; null when it is not to be. */
  nameRecording(subject: RecordingSubject): string | null;
  /** Somebody was let in there by a key, which may be revoked later. */
  onKeyUsed(path: string): void;
}

const NO_KEY = "Give your API key as the password, or as ?api_key= in the address.";
const WRONG_KEY = "This API key does not exist, or has been revoked.";
const tooManyStreams = (most: number): string =>
  `This key publishes ${most} streams already, which is the most; end one first.`;
const TOO_MANY = "Too many wrong keys came from this address; it is answered slowly for a while.";

const grant = (recording: string | null = null): Judgement => ({ refusal: null, recording });
const refuse = (kind: RefusalKind, detail: string): Judgement => ({ refusal: { kind, detail }, recording: null });

export class Admission {
  readonly #needs: AdmissionNeeds;
  readonly #places: PublishingPlaces;

  constructor(needs: AdmissionNeeds) {
    const { mostPublished, tokens, livePaths } = needs;
    this.#needs = needs;
    this.#places = new PublishingPlaces(mostPublished, () => livePaths().filter((path) => !tokens.publishes(path)));
  }

  /** Never rejects. Who has no right to a path does not learn whether it exists. */
  async judge(request: AuthorizeRequest): Promise<Judgement> {
    const { action, path, secret, address } = request;
    const { tokens, keys, wrongKeys, sleep } = this.#needs;
    if (secret === null || secret === "") return refuse("unauthorized", NO_KEY);
    if (tokens.isToken(secret))
      return tokens.allows(secret, action, path) ? { ...grant(), isOwn: true } : refuse("unauthorized", WRONG_KEY);
    const isSlow = wrongKeys.isSlow(address) && !keys.isKnown(secret);
    // Before it is looked up: guesses are then few, whatever they cost.
    if (isSlow) await sleep();
    try {
      return await this.#judgeUser(await keys.authenticate(secret, address), request);
    } catch (error) {
      return this.#refuseFor(error, isSlow);
    }
  }

  async #judgeUser(user: User, { action, path, protocol }: AuthorizeRequest): Promise<Judgement> {
    const { sql, onKeyUsed, nameRecording } = this.#needs;
    if (path.split("/")[0] !== user.username)
      return refuse("forbidden", `This key is for paths below /${user.username}/ alone.`);
    const { sources, hasOutput } = await findPathNames(sql, user.uuid, path);
    const source = chooseSource(sources, protocol);
    if (source === null && !hasOutput)
      return refuse("unknown", `Nothing is registered at /${path}: register it first (POST /stream).`);
    if (action === "publish" && source === null)
      return refuse("forbidden", `/${path} is the path of an rtsp output: its process alone publishes there.`);
    onKeyUsed(path);
    if (action === "play" || source === null) return grant();
    if (!this.#places.take(user.username, path)) return refuse("forbidden", tooManyStreams(this.#needs.mostPublished));
    return grant(nameRecording({ userUuid: user.uuid, sourceUuid: source.uuid, alias: source.alias, path }));
  }

  #refuseFor(error: unknown, isSlow: boolean): Judgement {
    const code = error instanceof ServiceError ? error.code : null;
    if (code === "api_key_expired") return refuse("unauthorized", (error as ServiceError).message);
    if (code === "api_key_invalid") return isSlow ? refuse("slow_down", TOO_MANY) : refuse("unauthorized", WRONG_KEY);
    this.#needs.log.warn({ err: error }, "a key of the media hub could not be checked");
    return refuse("unavailable", "Whether this key is good cannot be found out now; try again soon.");
  }
}

/** Of several with one path that of the protocol, else the newest. */
const chooseSource = (sources: readonly NamingSource[], protocol: string): NamingSource | null =>
  sources.find(({ streamType }) => streamType === protocol) ?? sources[0] ?? null;
