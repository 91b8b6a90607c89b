/** Publishes access units to an RTSP, RTMP or SRT server: connects when there is video to send, reconnects with backoff. */

import { readRtmpAddress } from "../../media/rtmp/client.ts";
import { publishRtmp } from "../../media/rtmp/publisher.ts";
import { readRtspAddress } from "../../media/rtsp/client.ts";
import { publishRtsp } from "../../media/rtsp/publisher.ts";
import type { Services } from "../element.ts";
import { OutletHandler } from "../outlet-handler.ts";
import { type OpenPublisher, srtOpenerOf } from "../video-outlet.ts";

interface PublishProperties {
  readonly url: string;
  readonly address: string | null;
}

/** Throws for an invalid URL. */
export const publishHandler = (properties: PublishProperties, services: Services): OutletHandler =>
  new OutletHandler(
    { open: openerOf(properties), texts: { offline: "publishing failed, retrying", live: "publishing" } },
    services,
  );

function openerOf({ url, address }: PublishProperties): OpenPublisher {
  if (url.startsWith("srt:")) return srtOpenerOf(url, address);
  const isRtsp = url.startsWith("rtsp:");
  if (isRtsp) readRtspAddress(url);
  else readRtmpAddress(url);
  const publish = isRtsp ? publishRtsp : publishRtmp;
  return (tracks, signal) => publish(url, tracks, { signal, ...(address !== null && { host: address }) });
}
