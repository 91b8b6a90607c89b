/** Publishes access units to an RTSP, RTMP or SRT server: connects when there is video to send, reconnects with backoff. */

import { readRtmpAddress } from "../../media/rtmp/client.ts";
import { publishRtmp } from "../../media/rtmp/publisher.ts";
import { readRtspAddress } from "../../media/rtsp/client.ts";
import { publishRtsp } from "../../media/rtsp/publisher.ts";
import type { Services } from "../element.ts";
import { OutletHandler } from "../outlet-handler.ts";
import { type OpenPublisher, srtOpenerOf } from "../video-outlet.ts";
import { KlvUnits } from "./klv-units.ts";

interface PublishProperties {
  readonly url: string;
  readonly address: string | null;
  readonly metadata?: boolean;
  readonly audio?: boolean;
}

const TEXTS = { offline: "publishing failed, retrying", live: "publishing" };

/** Throws for an invalid URL. */
export function publishHandler(properties: PublishProperties, services: Services): OutletHandler {
  const open = openerOf(properties);
  const options = { open, texts: TEXTS, hasSound: properties.audio ?? false };
  if (properties.metadata !== true) return new OutletHandler(options, services);
  const klv = new KlvUnits(services);
  const extend: KlvUnits["extend"] = (made) => klv.extend(made);
  return new OutletHandler({ ...options, extend, onClose: () => klv.close() }, services);
}

function openerOf({ url, address }: PublishProperties): OpenPublisher {
  if (url.startsWith("srt:")) return srtOpenerOf(url, address);
  const isRtsp = url.startsWith("rtsp:");
  if (isRtsp) readRtspAddress(url);
  else readRtmpAddress(url);
  const publish = isRtsp ? publishRtsp : publishRtmp;
  return (tracks, signal) => publish(url, tracks, { signal, ...(address !== null && { host: address }) });
}
