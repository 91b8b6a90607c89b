/** Where an output is sent, for one run of its process: to the media hub with a token, or to a checked address. */
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { guardAddress } from "../net/guard.ts";
import { readAuthority } from "../net/url.ts";
import { hubPath } from "../store/hub-paths.ts";
import type { AttachedOutput } from "../store/outputs.ts";
import { hasBoxes, OUTPUT_TYPE } from "./output-types.ts";

export interface OutputRoute {
  /** Params of the slot named like the output's type. Secret. */
  readonly params: JsonRecord;
  /** The route is no longer used. */
  release(): void;
}

/** There is no route now, but there may be one later. */
export class NoRoute extends Error {}

/**
 * Null for data outputs, which need no route. Rejects with `ServiceError` if the target is not permitted, and with `NoRoute`.
 * @param failing the current route, which fails: returned if there is no other
 * @param sourceUuid the source of the process
 */
export type RouteOutput = (
  output: AttachedOutput,
  failing: OutputRoute | null,
  sourceUuid?: string,
) => Promise<OutputRoute | null>;

interface RouteDeps {
  readonly media: { issueToken(action: "publish", path: string): { readonly url: string; revoke(): void } };
  readonly network: Config["network"];
}

export const routeOutputs =
  ({ media, network }: RouteDeps): RouteOutput =>
  async (output, failing, sourceUuid) => {
    const { target } = OUTPUT_TYPE[output.type];
    if (target === "hub") return failing ?? routeToHub(media, output);
    return target === "remote" ? routeToTarget(network, output, failing, sourceUuid) : null;
  };

function routeToHub(media: RouteDeps["media"], output: AttachedOutput): OutputRoute {
  const { url, username } = output;
  const path = hubPath(username, (url ?? "").slice("rtsp://".length));
  const token = media.issueToken("publish", path);
  return { params: { url: token.url, ...videoParams(output) }, release: () => token.revoke() };
}

/** Graphs of users may have slots with the param `resolution` only: defaults are not named. */
const videoParams = ({ type, settings, codec, boxes, bitrate = null, audio = false }: AttachedOutput): JsonRecord => ({
  resolution: settings,
  ...(codec !== "h264" && { codec }),
  ...(boxes !== undefined && boxes !== hasBoxes(type) && { boxes }),
  ...(bitrate !== null && { bitrate }),
  ...(audio && { audio }),
});

/** Of the element `cot`. */
const MOST_CALLSIGN = 40;

/** The name stays in the URL, for the receiver; the runner connects to the address. Several addresses are tried in turn. */
async function routeToTarget(
  network: RouteDeps["network"],
  output: AttachedOutput,
  failing: OutputRoute | null,
  sourceUuid: string | undefined,
): Promise<OutputRoute> {
  const target = output.url ?? "";
  const addresses = await guardTarget(target, network);
  const tried = addresses.indexOf(String(failing?.params.address));
  const address = addresses[(tried + 1) % addresses.length];
  if (address === undefined) {
    const authority = readAuthority(target);
    throw new NoRoute(`no host of the name ${typeof authority === "string" ? "" : authority.host} can be found`);
  }
  if (failing !== null && address === failing.params.address) return failing;
  const { hasVideo, namesSource } = OUTPUT_TYPE[output.type];
  const source = namesSource === true && sourceUuid !== undefined ? { source_uuid: sourceUuid } : {};
  const { tak = null, alias = "" } = output;
  const camera = tak === null ? {} : { camera: true, callsign: alias.slice(0, MOST_CALLSIGN) || "camera", ...tak };
  const params = { url: target, address, ...(hasVideo && videoParams(output)), ...source, ...camera };
  return { params, release() {} };
}

/** As `guardAddress`. Only datagrams may be sent to a multicast group. */
export const guardTarget = (url: string, network: Config["network"]): Promise<readonly string[]> =>
  guardAddress(url, network, "/url", { allowsGroups: url.startsWith("udp:") });
