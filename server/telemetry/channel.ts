/**
 * The contract of a telemetry channel: how the messages of one process come in. One file a channel; another one is one
 * more file and its name in channels.ts. A channel carries bytes and knows nothing of what they mean.
 */
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";

export interface IncomingMessage {
  readonly payload: Uint8Array | string;
  /** It holds at every time, and for everybody who comes later. */
  readonly isLasting?: boolean;
  /** It was kept for whoever comes, and may be of any time: nothing says where anything is now. */
  readonly isKept?: boolean;
  /** To whoever sent it, where somebody listens: why it is not used. Must not throw. */
  refuse?(error: Error): void;
}

export interface ChannelNeeds {
  /** Of the source's setting, checked. */
  readonly parameters: JsonRecord;
  readonly config: Pick<Config, "telemetry" | "network">;
  /** Never throws, and keeps no more than it may, however fast they come. */
  take(message: IncomingMessage): void;
  /** Something came that was not even looked at. */
  refuse(reason: string): void;
  /** Why nothing can come; null: it can. */
  tell(trouble: string | null): void;
}

export interface TelemetryChannel {
  /** What to do while nothing has come, for people. */
  readonly advice: string;
  /** Clients bring messages here. Absent: this channel gets them itself. */
  receive?(message: IncomingMessage): void;
  /** Nothing comes any more once this returns; what is left of it goes by itself. */
  close(): void;
}
