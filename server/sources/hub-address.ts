/** Which streams are published to our own media hub, and where there. */

import { readAuthority } from "../net/url.ts";
import { ServiceError } from "../service-error.ts";

const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9._~-]*$/;
const MOST_CHARACTERS = 255;
const USUAL_PORTS: Readonly<Record<string, number>> = { rtsp: 554, rtmp: 1935 };

export interface OwnHub {
  readonly rtspPort: number;
  readonly rtmpPort: number;
  isOwnHost(host: string): boolean;
}

/**
 * `<username>/<path>` of a media-server source; null for a stream that is somewhere else. Throws `invalid_input` when it is
 * ours, and the path is none that this user may have.
 */
export function findHubPath(inputUrl: string, username: string, hub: OwnHub): string | null {
  const authority = readAuthority(inputUrl);
  if (typeof authority === "string") return null;
  const { scheme, host, port, rest } = authority;
  const ours: number | undefined = { rtsp: hub.rtspPort, rtmp: hub.rtmpPort }[scheme];
  if (ours === undefined || (port ?? USUAL_PORTS[scheme]) !== ours || !hub.isOwnHost(host)) return null;
  const path = readPath(rest);
  if (path?.startsWith(`${username}/`)) return path;
  const message = `names this service's own media server, where your paths are below your username: expected ${scheme}://${authority.writtenHost}:${ours}/${username}/ and a path of words of letters, digits and ._~-, each beginning with a letter, a digit or _`;
  throw new ServiceError("invalid_input", {
    detail: `/input_url ${message}.`,
    errors: [{ path: "/input_url", message }],
  });
}

/** By the rules of the hub, which reads what publishers ask for in the same way. */
function readPath(rest: string): string | null {
  const [written = ""] = rest.split(/[?#]/);
  const segments = written.replace(/^\/|\/$/g, "").split("/");
  const plainSegments = segments.map(decode);
  if (!plainSegments.every((segment) => SEGMENT.test(segment))) return null;
  const path = plainSegments.join("/");
  return path.length > MOST_CHARACTERS ? null : path;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
