/** What of a publisher's session description is taken: one video of H.264, and one sound of AAC if there is one. */
import type { AacLayout } from "../../media/rtp/aac-depayload.ts";
import { readAac, readSdp, type SdpMedia, VIDEO_CLOCK } from "../../media/rtsp/sdp.ts";
import type { AudioTrack } from "../../media/unit.ts";
import { RequestRefusal } from "./refusal.ts";

export interface Announced {
  /** All, also those that are ignored: the publisher sets them up too. */
  readonly media: readonly SdpMedia[];
  readonly video: SdpMedia;
  readonly audio: { readonly media: SdpMedia; readonly track: AudioTrack; readonly layout: AacLayout } | null;
}

/** Throws a `RequestRefusal`. */
export function readAnnounced(sdp: string): Announced {
  const media = readSdp(sdp);
  if (media === null) throw new RequestRefusal(400, "a session description (SDP) is expected");
  return { media, video: findVideo(media), audio: findAudio(media) };
}

function findVideo(media: readonly SdpMedia[]): SdpMedia {
  const videos = media.filter(({ kind }) => kind === "video");
  const h264 = videos.find(({ encoding, clockRate }) => encoding === "H264" && clockRate === VIDEO_CLOCK);
  if (h264 !== undefined) return h264;
  const [first] = videos;
  if (first === undefined) throw new RequestRefusal(415, "H.264 is expected, no video was announced");
  const name = first.encoding.replace(/[^A-Z0-9.-]/g, "").replace(/^H26/, "H.26") || "something else";
  throw new RequestRefusal(415, `H.264 is expected, ${name} was announced: set the encoder to H.264`);
}

function findAudio(media: readonly SdpMedia[]): Announced["audio"] {
  for (const one of media) {
    const aac = one.kind === "audio" ? readAac(one) : null;
    if (aac !== null) return { media: one, ...aac };
  }
  return null;
}
