/** Status of the service; limits and usage of a key. */
import {
  Allocated,
  Allocation,
  API_VERSION,
  Login,
  NO_EXPIRATION_DATE,
  OldInformation,
  Status,
  UNLIMITED_MINUTES,
  UserInformation,
} from "../../schemas/api/information.ts";
import type { MediaHub } from "../media/media-hub.ts";
import type { Sql } from "../store/client.ts";
import { allocate, listChildSubscriptions, readSubscription, type Subscription } from "../store/users.ts";
import type { KeyRights, User } from "../user.ts";
import { type AnyEndpoint, defineEndpoints, ok } from "./endpoint.ts";

interface InformationDeps {
  readonly sql: Sql;
  readonly softwareVersion: string;
  /** Every component: `ok`, or the reason why not. Never rejects. */
  readonly components: () => Promise<Readonly<Record<string, string>>>;
  readonly media: MediaPorts;
}

/** Null: without TLS. */
type MediaPorts = Pick<MediaHub, "rtspPort" | "rtmpPort" | "srtPort" | "rtspsPort" | "rtmpsPort">;

const MINUTE_MS = 60_000;
const define = defineEndpoints("Information");

export function informationEndpoints(deps: InformationDeps): readonly AnyEndpoint[] {
  const { sql, softwareVersion, media } = deps;
  const components = shareConcurrent(deps.components);
  const startedMs = performance.now();
  const versions = { version: API_VERSION, software_version: softwareVersion };

  const login = define("GET", "/login", "login", {
    summary: "Validate an API key",
    description: "On 403, `code` says whether the key is missing, invalid or expired. GET and POST are equivalent.",
    scope: null,
    sources: "none",
    answers: { 200: { description: "The key is valid.", schema: Login } },
    handle: ({ user: { username, product, expiresAt, key } }) =>
      ok({
        valid: true,
        username,
        product,
        expiration_date: toDate(earlier(expiresAt, key.expiresAt)),
        key: toKey(key),
      }),
  });

  return [
    define("GET", "/status", "getStatus", {
      summary: "Get the status of the service",
      description: "Needs no key. With a valid key it includes the status of each component.",
      access: "optional",
      answers: { 200: { description: "The status of the service.", schema: Status } },
      async handle({ user }) {
        const states = await components();
        const isOk = Object.values(states).every((state) => state === "ok");
        const uptime = Math.round(performance.now() - startedMs) / 1000;
        const body = { status: isOk ? "ok" : "degraded", ...versions, uptime_seconds: uptime };
        return ok(user === null ? body : { ...body, components: states });
      },
    }),
    login,
    { ...login, method: "POST", id: "loginByPost" },
    define("GET", "/user_info", "getUserInfo", {
      summary: "Get the limits, features and remaining minutes of a key",
      scope: null,
      sources: "none",
      answers: { 200: { description: "The user.", schema: UserInformation } },
      async handle({ user, publicUrl }) {
        const [own, children] = await Promise.all([
          readOwn(sql, user),
          user.masterUuid === null ? listChildSubscriptions(sql, user.uuid) : [],
        ]);
        return ok({
          ...versions,
          username: user.username,
          product: user.product,
          uploaded_video_storage: toStorage(user),
          subscription: toSubscription(own),
          ...(children.length > 0 && {
            children_subscription: children.map((child) => ({ username: child.username, ...toSubscription(child) })),
          }),
          is_track_logger_enabled: user.hasTrackLogger,
          is_enhancement_enabled: user.hasEnhancement,
          publish_urls: toPublishUrls(media, publicUrl, user.username),
          key: toKey(user.key),
        });
      },
    }),
    define("GET", "/info", "getInfo", {
      summary: "Get the remaining minutes of a key, in the format used before `GET /user_info`",
      isDeprecated: true,
      scope: null,
      sources: "none",
      answers: { 200: { description: "The user.", schema: OldInformation } },
      async handle({ user }) {
        const { pending_to_allocate: _, ...subscription } = toSubscription(await readOwn(sql, user));
        const storage = toStorage(user);
        return ok({ version: API_VERSION, uploaded_video_storage: storage, subscription, product: user.product });
      },
    }),
    define("POST", "/subscription/allocate", "allocateMinutes", {
      summary: "Allocate pending minutes of a master key to itself or to one of its child keys",
      description:
        "All or nothing. Concurrent calls never allocate more than is pending. A key without a limit cannot receive minutes, since they would be lost: 409 `minutes_unlimited`.",
      scope: "admin",
      body: Allocation,
      answers: { 200: { description: "The receiver's new balance, and what is still pending.", schema: Allocated } },
      errors: ["master_key_needed", "minutes_not_pending", "minutes_unlimited", "user_not_found"],
      async handle({ user, body: { username, minutes } }) {
        await allocate(sql, { masterUuid: user.uuid, username, ms: minutes * MINUTE_MS });
        const own = await readOwn(sql, user);
        const children = username === user.username ? [] : await listChildSubscriptions(sql, user.uuid);
        const receiver = children.find((child) => child.username === username) ?? own;
        const pending = toMinutes(own.pendingMs);
        return ok({ username, minutes, subscription: toSubscription(receiver), pending_to_allocate: pending });
      },
    }),
  ];
}

/** `/status` is public: concurrent requests share one check of the components. */
function shareConcurrent<T>(check: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  return () => {
    running ??= check().finally(() => {
      running = null;
    });
    return running;
  };
}

/** A key that was deleted after authentication has no minutes. */
async function readOwn(sql: Sql, { uuid, username, expiresAt }: User): Promise<Subscription> {
  const none = { userUuid: uuid, username, expiresAt, consumedMs: 0, remainingMs: 0, pendingMs: 0 };
  return (await readSubscription(sql, uuid)) ?? none;
}

const toSubscription = ({ remainingMs, consumedMs, pendingMs, expiresAt }: Subscription) => ({
  remaining_minutes: remainingMs === null ? UNLIMITED_MINUTES : toMinutes(remainingMs),
  consumed_minutes: toMinutes(consumedMs),
  pending_to_allocate: toMinutes(pendingMs),
  expiration_date: toDate(expiresAt),
});

/** To two decimals. */
const toMinutes = (ms: number): number => Math.round((ms / MINUTE_MS) * 100) / 100;

const toDate = (time: Date | null): string => time?.toISOString().slice(0, 10) ?? NO_EXPIRATION_DATE;

const earlier = (a: Date | null, b: Date | null): Date | null => (a === null || (b !== null && b < a) ? b : a);

const toKey = ({ uuid, name, scopes, sourceUuids, person, expiresAt }: KeyRights) => ({
  ...{ uuid, key_uuid: uuid, name, scopes, source_uuids: sourceUuids, person },
  expires_at: expiresAt?.toISOString() ?? null,
});

function toPublishUrls(media: MediaPorts, publicUrl: string, username: string) {
  const { rtspPort, rtmpPort, srtPort, rtspsPort, rtmpsPort } = media;
  const { hostname } = new URL(publicUrl);
  const url = (scheme: string, port: number) => `${scheme}://${hostname}:${port}/${username}/`;
  return {
    ...{ rtsp: url("rtsp", rtspPort), rtmp: url("rtmp", rtmpPort), srt: url("srt", srtPort) },
    ...(rtspsPort !== null && { rtsps: url("rtsps", rtspsPort) }),
    ...(rtmpsPort !== null && { rtmps: url("rtmps", rtmpsPort) }),
  };
}

const toStorage = ({ limits }: User) => ({
  max_video_upload_size_bytes: limits.videoBytes,
  total_storage_size_bytes: limits.storageBytes,
});
