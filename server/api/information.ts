/** Who asks, what is left to them, and how the service is. */
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
import type { Sql } from "../store/client.ts";
import { allocate, listChildSubscriptions, readSubscription, type Subscription } from "../store/users.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoint, type Method } from "./endpoint.ts";

export interface InformationNeeds {
  readonly sql: Sql;
  readonly softwareVersion: string;
  /** Every part of the service: `ok`, or why it is not. Never rejects. */
  readonly components: () => Promise<Readonly<Record<string, string>>>;
}

const MINUTE_MS = 60_000;

export function informationEndpoints(needs: InformationNeeds): readonly AnyEndpoint[] {
  const { sql, softwareVersion } = needs;
  const components = shareUnderWay(needs.components);
  const startedMs = performance.now();
  const versions = { version: API_VERSION, software_version: softwareVersion };

  const status = defineEndpoint({
    method: "GET",
    path: "/status",
    tag: "Information",
    id: "getStatus",
    summary: "Says how the service is.",
    description: "Needs no key. With a valid one it says how each part is.",
    access: "optional",
    answers: { 200: { description: "How the service is.", schema: Status } },
    errors: [],
    async handle({ user }) {
      const parts = await components();
      const isWell = Object.values(parts).every((state) => state === "ok");
      const uptime = Math.round(performance.now() - startedMs) / 1000;
      const body = { status: isWell ? "ok" : "degraded", ...versions, uptime_seconds: uptime };
      return { status: 200, body: user === null ? body : { ...body, components: parts } };
    },
  });

  const login = (method: Method, id: string) =>
    defineEndpoint({
      method,
      path: "/login",
      tag: "Information",
      id,
      summary: "Validates an API key.",
      description:
        "403 says by its `code` whether the key is missing, not valid or expired. GET and POST answer alike.",
      access: "key",
      answers: { 200: { description: "The key is valid.", schema: Login } },
      errors: [],
      handle: ({ user }) => ({
        status: 200,
        body: {
          valid: true,
          username: user.username,
          product: user.product,
          expiration_date: toDate(user.expiresAt),
        },
      }),
    });

  const userInfo = defineEndpoint({
    method: "GET",
    path: "/user_info",
    tag: "Information",
    id: "getUserInfo",
    summary: "Says what a key may do and what it has left.",
    access: "key",
    answers: { 200: { description: "The user.", schema: UserInformation } },
    errors: [],
    async handle({ user }) {
      const [own, children] = await Promise.all([
        readOwn(sql, user),
        user.masterUuid === null ? listChildSubscriptions(sql, user.uuid) : [],
      ]);
      return {
        status: 200,
        body: {
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
        },
      };
    },
  });

  const info = defineEndpoint({
    method: "GET",
    path: "/info",
    tag: "Information",
    id: "getInfo",
    summary: "Says what a key has left, as it was said before `GET /user_info`.",
    isDeprecated: true,
    access: "key",
    answers: { 200: { description: "The user.", schema: OldInformation } },
    errors: [],
    async handle({ user }) {
      const { pending_to_allocate: _, ...subscription } = toSubscription(await readOwn(sql, user));
      const storage = toStorage(user);
      const body = { version: API_VERSION, uploaded_video_storage: storage, subscription, product: user.product };
      return { status: 200, body };
    },
  });

  const allocateMinutes = defineEndpoint({
    method: "POST",
    path: "/subscription/allocate",
    tag: "Information",
    id: "allocateMinutes",
    summary: "Hands pending minutes of a master key to itself or to one of its children.",
    description:
      "All or nothing. Two such calls at once never hand out more than there is. To a key without a limit nothing is handed, since it would be lost: 409 `minutes_unlimited`.",
    access: "key",
    body: Allocation,
    answers: { 200: { description: "What the receiver has now, and what is left.", schema: Allocated } },
    errors: ["master_key_needed", "minutes_not_pending", "minutes_unlimited", "user_not_found"],
    async handle({ user, body: { username, minutes } }) {
      await allocate(sql, { masterUuid: user.uuid, username, ms: minutes * MINUTE_MS });
      const own = await readOwn(sql, user);
      const children = username === user.username ? [] : await listChildSubscriptions(sql, user.uuid);
      const receiver = children.find((child) => child.username === username) ?? own;
      const pending = toMinutes(own.pendingMs);
      const subscription = toSubscription(receiver);
      return { status: 200, body: { username, minutes, subscription, pending_to_allocate: pending } };
    },
  });

  return [status, login("GET", "login"), login("POST", "loginByPost"), userInfo, info, allocateMinutes];
}

/** Anybody may ask, as often as they like: the parts are looked at by one at a time, for all who ask meanwhile. */
function shareUnderWay<T>(look: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | null = null;
  return () => {
    underWay ??= look().finally(() => {
      underWay = null;
    });
    return underWay;
  };
}

/** A key that was removed after it was found right has nothing left. */
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

/** To a hundredth. */
const toMinutes = (ms: number): number => Math.round((ms / MINUTE_MS) * 100) / 100;

const toDate = (time: Date | null): string => time?.toISOString().slice(0, 10) ?? NO_EXPIRATION_DATE;

const toStorage = ({ limits }: User) => ({
  max_video_upload_size_bytes: limits.videoBytes,
  total_storage_size_bytes: limits.storageBytes,
});
