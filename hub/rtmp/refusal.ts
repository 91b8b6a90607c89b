/** What a publisher that is not let in is told, in RTMP's words. */

import type { Status } from "../../media/rtmp/message.ts";
import { Refused } from "../doorman.ts";
import type { StreamRefusal } from "../streams.ts";

const CODES = {
  unauthorized: "NetStream.Publish.Denied",
  slow_down: "NetStream.Publish.Denied",
  forbidden: "NetStream.Publish.Denied",
  unknown: "NetStream.Publish.BadName",
  busy: "NetStream.Publish.BadName",
  not_live: "NetStream.Publish.BadName",
  too_many: "NetStream.Failed",
  unavailable: "NetStream.Failed",
} as const;

export const BAD_ADDRESS: Status = {
  level: "error",
  code: "NetStream.Publish.BadName",
  description: "the address of a stream is rtmp://host/<username>/<path>, of letters, digits and ._~-",
};

export function describeRefusal(error: Refused | StreamRefusal): Status {
  const description = error instanceof Refused ? error.detail : error.message;
  return { level: "error", code: CODES[error.kind], description };
}
