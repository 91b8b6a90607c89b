/** Writes HLS playlists (RFC 8216 and its second edition, draft-pantos-hls-rfc8216bis). */

import type { AudioTrack } from "../../media/access-unit.ts";
import { codecOf } from "../../media/codecs.ts";
import type { InitSegment, Part, Segment, Window } from "./window.ts";

export const MULTIVARIANT_PLAYLIST = "index.m3u8";
export const MEDIA_PLAYLIST = "video.m3u8";

/** Older segments are listed without parts. */
const TARGETS_WITH_PARTS = 3;
/** draft 4.4.3.8: at least three times the longest part. */
const HOLD_BACK_PARTS = 3;
/** Before it is measured. */
const DEFAULT_BITRATE = 4_000_000;
/** The next segment may be larger. */
const BITRATE_MARGIN = 1.2;
const VERSION = 9;

const fileName = ({ name }: Window, kind: "init" | "part" | "seg", number: number): string =>
  `${name}_${kind}${number}.mp4`;

/** `query`: empty, or starts with a question mark; appended to every URI. */
export function writeMultivariant(window: Window, init: InitSegment, query: string): string {
  const { video, audio } = init.tracks;
  const bandwidth = Math.ceil((window.peakBitrate || DEFAULT_BITRATE) * BITRATE_MARGIN);
  const codecs = [codecOf(video).describe(video.sets), ...(audio === null ? [] : [audioCodecName(audio)])].join(",");
  return toText([
    "#EXTM3U",
    `#EXT-X-VERSION:${VERSION}`,
    `#EXT-X-STREAM-INF:BANDWIDTH=${bandwidth},CODECS="${codecs}",RESOLUTION=${video.width}x${video.height}`,
    `${MEDIA_PLAYLIST}${query}`,
  ]);
}

/** Requires `window.isReady`. */
export function writeMedia(window: Window, query: string): string {
  const { segmentSeconds, partUs } = window.targets;
  const segments = window.listed();
  const discontinuities = window.countDiscontinuities();
  const holdBack = `PART-HOLD-BACK=${seconds(HOLD_BACK_PARTS * partUs)}`;
  return toText([
    "#EXTM3U",
    `#EXT-X-VERSION:${VERSION}`,
    `#EXT-X-TARGETDURATION:${segmentSeconds}`,
    `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,${holdBack}`,
    `#EXT-X-PART-INF:PART-TARGET=${seconds(partUs)}`,
    `#EXT-X-MEDIA-SEQUENCE:${segments[0]?.number ?? window.growingNumber}`,
    ...(discontinuities === 0 ? [] : [`#EXT-X-DISCONTINUITY-SEQUENCE:${discontinuities}`]),
    ...writeSegments(window, segments, query),
    window.isEnded
      ? "#EXT-X-ENDLIST"
      : `#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${fileName(window, "part", window.nextPart)}${query}"`,
  ]);
}

function writeSegments(window: Window, done: readonly Segment[], query: string): string[] {
  const lines: string[] = [];
  let init: InitSegment | null = null;
  let leftUs = done.reduce((sum, { durationUs }) => sum + durationUs, 0);
  const withPartsUs = TARGETS_WITH_PARTS * window.targets.segmentSeconds * 1e6;
  for (const segment of [...done, ...(window.growing === null ? [] : [window.growing])]) {
    if (segment.isDiscontinuous) lines.push("#EXT-X-DISCONTINUITY");
    if (segment.init !== init) lines.push(`#EXT-X-MAP:URI="${fileName(window, "init", segment.init.number)}${query}"`);
    init = segment.init;
    lines.push(`#EXT-X-PROGRAM-DATE-TIME:${new Date(segment.captureMs).toISOString()}`);
    if (leftUs <= withPartsUs) for (const part of segment.parts) lines.push(writePart(window, part, query));
    leftUs -= segment.durationUs;
    if (segment === window.growing) break;
    lines.push(`#EXTINF:${seconds(segment.durationUs)},`, `${fileName(window, "seg", segment.number)}${query}`);
  }
  return lines;
}

function writePart(window: Window, { number, durationUs, hasKey }: Part, query: string): string {
  const independent = hasKey ? ",INDEPENDENT=YES" : "";
  return `#EXT-X-PART:DURATION=${seconds(durationUs)},URI="${fileName(window, "part", number)}${query}"${independent}`;
}

/** RFC 6381: `mp4a.40.2`. */
function audioCodecName({ config }: AudioTrack): string {
  return `mp4a.40.${(config[0] ?? 0) >> 3}`;
}

const seconds = (us: number): string => (us / 1e6).toFixed(5);
const toText = (lines: readonly string[]): string => `${lines.join("\n")}\n`;
