/** A process on a media-server source plays it from the hub, with a right of its own to that one stream. */
import type { Media, RunToken } from "../media/media-hub.ts";
import { ServiceError } from "../service-error.ts";
import type { SourceInput } from "./sources.ts";

/** @param label what clients are told of it */
export function pullFromHub(media: Media, path: string, label: string): Omit<SourceInput, "telemetry"> {
  // One for all runs: a process that finds another address than before takes its source for moved.
  let token: RunToken | null = null;
  return {
    uri: `rtsp://127.0.0.1:${media.rtspPort}/${path}`,
    isFile: false,
    label,
    async locate() {
      if (media.find(path) === null) throw notLive(media, path);
      token ??= media.issueToken("play", path);
      return token.url;
    },
    release() {
      token?.revoke();
      token = null;
    },
  };
}

const notLive = ({ trouble }: Media, path: string): ServiceError =>
  new ServiceError("source_not_live", {
    detail: trouble ?? `nothing is published at /${path} now; publish the stream, then start`,
  });
