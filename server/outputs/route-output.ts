/** Outputs of type rtsp go to our own hub with a token; those of types rtmp and cot to an address that has been checked. */
import type { Config } from "../../schemas/config.ts";
import { hubPath, type Media } from "../media/media-hub.ts";
import { readAuthority } from "../net/url.ts";
import type { AttachedOutput } from "../store/attachments.ts";
import { guardTarget } from "./guard-target.ts";
import { NoRoute, type OutputRoute, type RouteOutput } from "./output-route.ts";

export interface RouteNeeds {
  readonly media: Pick<Media, "issueToken">;
  readonly network: Config["network"];
}

export const routeOutputs =
  ({ media, network }: RouteNeeds): RouteOutput =>
  async (output, failing) => {
    if (output.type === "rtsp") return failing ?? routeToHub(media, output);
    return output.type === "rtmp" || output.type === "cot" ? routeAway(network, output, failing) : null;
  };

function routeToHub(media: RouteNeeds["media"], { url, username, settings }: AttachedOutput): OutputRoute {
  const path = hubPath(username, (url ?? "").slice("rtsp://".length));
  const token = media.issueToken("publish", path);
  return { params: { url: token.url, resolution: settings }, release: () => token.revoke() };
}

/** The name stays in the URL, which the server is told; what is connected to is the number. Of several, each in turn. */
async function routeAway(
  network: RouteNeeds["network"],
  { type, url, settings }: AttachedOutput,
  failing: OutputRoute | null,
): Promise<OutputRoute> {
  const target = url ?? "";
  const addresses = await guardTarget(target, network);
  const tried = addresses.indexOf(String(failing?.params.address));
  const address = addresses[(tried + 1) % addresses.length];
  if (address === undefined) throw new NoRoute(`no host of the name ${hostOf(target)} can be found`);
  if (failing !== null && address === failing.params.address) return failing;
  return { params: { url: target, address, ...(type === "rtmp" && { resolution: settings }) }, release() {} };
}

function hostOf(url: string): string {
  const authority = readAuthority(url);
  return typeof authority === "string" ? "" : authority.host;
}
