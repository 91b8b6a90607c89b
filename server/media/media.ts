/** What the rest of the server may ask of the media hub. `MediaHub` keeps these promises. */
import type { StreamInfo } from "../../schemas/hub.ts";

/** For one run of one process: may publish or play one path, until it is taken back. */
export interface RunToken {
  /** The address with the token in it, as a runner uses it. Never shown to anybody. */
  readonly url: string;
  revoke(): void;
}

export interface Media {
  /** The ports that it listens on; they stay when it is restarted. */
  readonly rtspPort: number;
  readonly rtmpPort: number;
  /** The stream at this path (`<username>/<path>`) as it is now, or null. */
  find(path: string): StreamInfo | null;
  /** RTSP on this machine, with rights for this path alone. */
  issueToken(action: "publish" | "play", path: string): RunToken;
  /** Whoever publishes or plays it must go. */
  expel(path: string, reason: string): void;
  /** Null when it is well. */
  readonly trouble: string | null;
}

/** A path of the hub: that of a media-server source or an rtsp output. */
export const hubPath = (username: string, streamPath: string): string => `${username}/${streamPath}`;
