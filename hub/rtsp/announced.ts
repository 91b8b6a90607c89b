/** What of a publisher's session description is taken: one video of H.264, and one sound of AAC if there is one. */

import type { AudioTrack } from "../../media/access-unit.ts";
import type { AacLayout } from "../../media/rtp/aac.ts";
import { readAac, readSdp, type SdpMedia, VIDEO_CLOCK } from "../../media/rtsp/sdp.ts";
import { RequestRefusal } from "./refusal.ts";

export interface Announced {
  /** All, also those that are ignored: the publisher sets them up too. */
  readonly media: readonly SdpMedia[];
  readonly video: SdpMedia;
  /** The sound that is left out, and why. Null: none is. */
  readonly leftOut: string | null;
  readonly audio: { readonly media: SdpMedia; readonly track: AudioTrack; readonly layout: AacLayout } | null;
}

/** Throws a `RequestRefusal`. */
export function readAnnounced(sdp: string): Announced {
  const media = readSdp(sdp);
  if (media === null) throw new RequestRefusal(400, "a session description (SDP) is expected");
  const audio = findAudio(media);
  const other = audio === null ? media.find(({ kind }) => kind === "audio") : undefined;
  const leftOut =
    other === undefined ? null : `AAC by RFC 3640 (mpeg4-generic) is expected, ${nameOf(other)} was announced`;
  return { media, video: findVideo(media), audio, leftOut };
}

function findVideo(media: readonly SdpMedia[]): SdpMedia {
  const videos = media.filter(({ kind }) => kind === "video");
  const h264 = videos.find(({ encoding, clockRate }) => encoding === "H264" && clockRate === VIDEO_CLOCK);
  if (h264 !== undefined) return h264;
  const [first] = videos;
  if (first === undefined) throw new RequestRefusal(415, "H.264 is expected, no video was announced");
  throw new RequestRefusal(415, `H.264 is expected, ${nameOf(first)} was announced: set the encoder to H.264`);
}

const nameOf = ({ encoding }: SdpMedia): string =>
  encoding.replace(/[^A-Z0-9.-]/g, "").replace(/^H26/, "H.26") || "something else";

function findAudio(media: readonly SdpMedia[]): Announced["audio"] {
  for (const one of media) {
    const aac = one.kind === "audio" ? readAac(one) : null;
    if (aac !== null) return { media: one, ...aac };
  }
  return null;
}
