/** Whose request it is: what a key stands for. Resources belong to users; a child key is a user of its own. */
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
}

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
}
