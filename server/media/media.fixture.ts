/** A media hub that does not listen: the test sets what is live. */
import { randomBytes } from "node:crypto";
import type { StreamInfo } from "../../schemas/hub.ts";
import { createSigner, type Signer } from "../keys/signed-urls.ts";
import type { OutputHub } from "../outputs/describe-output.ts";
import { ServiceError } from "../service-error.ts";
import { RunTokens } from "./authorization.ts";
import type { Media, RunToken } from "./media-hub.ts";

export const testSigner = (): Signer => createSigner(randomBytes(32), { urlSeconds: 3600, watchSeconds: 7200 });

/** There are no recordings. */
export const NO_RECORDED = {
  isShared: false,
  register: async (): Promise<string> => {
    throw new ServiceError("recording_not_found", { detail: "there are none" });
  },
};

export const testHub = (): OutputHub => ({ rtspPort: 8554, signer: testSigner() });

export class StillMedia implements Media {
  readonly rtspPort = 8554;
  readonly rtmpPort = 1935;
  readonly srtPort = 8890;
  readonly rtspsPort = null;
  readonly rtmpsPort = null;
  readonly streamNumbers = [];
  trouble: string | null = null;
  readonly live = new Set<string>();
  readonly tokens = new RunTokens();
  readonly expelled: string[] = [];
  #seen = "";
  #version = 0;

  find(path: string): StreamInfo | null {
    if (!this.live.has(path)) return null;
    return { path, protocol: "rtsp", codec: "h264", width: 640, height: 360, hasAudio: false };
  }

  get livePaths(): readonly string[] {
    return [...this.live];
  }

  get streamsVersion(): number {
    const paths = [...this.live].join();
    if (paths !== this.#seen) this.#version += 1;
    this.#seen = paths;
    return this.#version;
  }

  issueToken(action: "publish" | "play", path: string): RunToken {
    const { token, revoke } = this.tokens.issue(action, path);
    return { url: `rtsp://run:${token}@127.0.0.1:${this.rtspPort}/${path}`, revoke };
  }

  expel(path: string): void {
    this.expelled.push(path);
  }
}
