/** What the requests of examples refer to. */
import type { ChildProcess } from "node:child_process";

export interface World {
  /** URL of the service for publishers. */
  readonly rtmp: string;
  readonly key: string;
  /** A webhook receiver on this machine. */
  readonly receiver: string;
  /** A street with cars, as MP4. */
  readonly clip: Uint8Array;
  /** Another video, as MP4. */
  readonly flight: Uint8Array;
  /** Publishes a test picture until the end of the tests. */
  publish(url: string): ChildProcess;
}

/** Of resources that several sections use. */
export interface Ids {
  /** A looped video with telemetry. */
  readonly video: string;
  /** A stream that is published to the service. */
  readonly camera: string;
  /** Runs on the video. */
  readonly process: string;
}
