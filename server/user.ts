import type { Scope } from "../schemas/api/keys.ts";

/** Whose request it is: what a key stands for. Resources belong to users; a child is a user of its own, with its own keys. */
export interface User {
  readonly uuid: string;
  readonly username: string;
  readonly product: string;
  /** Null for a master key. */
  readonly masterUuid: string | null;
  readonly hasTrackLogger: boolean;
  readonly hasRecording: boolean;
  readonly hasEnhancement: boolean;
  readonly isGraphAuthor: boolean;
  /** An operator of the service: may see numbers of all users. */
  readonly isOperator: boolean;
  readonly limits: UserLimits;
  readonly expiresAt: Date | null;
  /** The key of the request. */
  readonly key: KeyRights;
}

/** What a key may do with the resources of its user. */
export interface KeyRights {
  readonly uuid: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null: all sources of the user. */
  readonly sourceUuids: readonly string[] | null;
  readonly expiresAt: Date | null;
  /** Who signed in to the console; null: not a session. */
  readonly person: string | null;
}

/** Of the service itself, when it acts for a user. */
export const ALL_RIGHTS: KeyRights = Object.freeze({
  ...{
    uuid: "00000000-0000-0000-0000-000000000000",
    name: "service",
    sourceUuids: null,
    expiresAt: null,
    person: null,
  },
  scopes: ["admin"] as const,
});

export interface UserLimits {
  readonly processes: number;
  readonly sources: number;
  readonly outputsRegistered: number;
  readonly outputsActive: number;
  readonly alerts: number;
  readonly subscriptions: number;
  readonly videoBytes: number;
  readonly storageBytes: number;
  readonly requestsPerMinute: number;
  /** Of one reading websocket of one process. */
  readonly socketClients: number;
}
