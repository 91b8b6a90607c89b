/** Sends access units with the metadata of their frames in a transport stream. */
import type { KlvCarriage, Tracks } from "../../media/access-unit.ts";
import { publishUdp } from "../../media/mpegts/udp-publisher.ts";
import { readTransportTarget } from "../../schemas/transport-target.ts";
import type { Services } from "../element.ts";
import { OutletHandler } from "../outlet-handler.ts";
import { type OpenPublisher, srtOpenerOf } from "../video-outlet.ts";
import { describeFrame } from "./metadata.ts";

interface MpegtsProperties {
  readonly url: string;
  readonly address: string | null;
  readonly metadata: KlvCarriage | "none";
  readonly audio?: boolean;
}

/** Throws for an invalid URL. */
export function mpegtsHandler(properties: MpegtsProperties, services: Services): OutletHandler {
  const options = {
    open: openerOf(properties),
    texts: { offline: "MPEG-TS output offline", live: "MPEG-TS output live" },
    hasSound: properties.audio ?? false,
  };
  const { metadata } = properties;
  if (metadata === "none") return new OutletHandler(options, services);
  let made: Tracks | null = null;
  let extended: Tracks | null = null;
  return new OutletHandler(
    {
      ...options,
      extend({ unit, tracks }, frame) {
        if (extended === null || tracks !== made) extended = { ...tracks, klv: metadata };
        made = tracks;
        const data = describeFrame(frame.captureNs, frame.meta, tracks.video);
        return { unit: { ...unit, klv: data === null ? [] : [{ ptsUs: unit.ptsUs, data }] }, tracks: extended };
      },
    },
    services,
  );
}

function openerOf({ url, address }: MpegtsProperties): OpenPublisher {
  const target = readTransportTarget(url);
  if (typeof target === "string") throw new Error(`the url of mpegts ${target}`);
  if (target.scheme === "srt") return srtOpenerOf(url, address);
  return (tracks, signal) => publishUdp(target, tracks, { signal, ...(address !== null && { host: address }) });
}
