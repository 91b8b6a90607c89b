/** Clips as RTMP messages, as encoders send them by the book and otherwise. */
import assert from "node:assert/strict";
import type { AccessUnit } from "../../media/access-unit.ts";
import { codecOf, isParameterSet } from "../../media/codecs.ts";
import type { Clip } from "../../media/mp4/clip.fixture.ts";
import { writeAudioConfig, writeAudioFrame, writePicture, writeVideoConfig } from "../../media/rtmp/flv.ts";
import { MESSAGE } from "../../media/rtmp/message.ts";
import type { Tag } from "./raw-client.fixture.ts";

export const videoTag = (timestamp: number, body: Uint8Array): Tag => ({
  ...{ type: MESSAGE.video, timestamp, body: Buffer.from(body) },
});

export const audioTag = (timestamp: number, body: Uint8Array): Tag => ({
  ...{ type: MESSAGE.audio, timestamp, body: Buffer.from(body) },
});

export const isVideo = ({ type }: Tag): boolean => type === MESSAGE.video;

export const configTag = ({ tracks: { video } }: Clip): Tag =>
  videoTag(0, writeVideoConfig(codecOf(video), video.sets));

/** A configuration, then pictures without parameter sets, or with them. */
export function tagsOf(clip: Clip, keepsSets = false): Tag[] {
  const { tracks, units } = clip;
  const codec = codecOf(tracks.video);
  const toTag = ({ kind, dtsUs, ptsUs, isKey, parts }: AccessUnit): Tag => {
    const dtsMs = Math.round(dtsUs / 1000);
    if (kind === "audio") return audioTag(dtsMs, writeAudioFrame(parts[0] ?? assert.fail()));
    const nals = keepsSets ? parts : parts.filter((nal) => !isParameterSet(codec, nal));
    return videoTag(dtsMs, writePicture(codec, nals, isKey, Math.round(ptsUs / 1000) - dtsMs));
  };
  const sound = tracks.audio === null ? [] : [audioTag(0, writeAudioConfig(tracks.audio.config))];
  return [configTag(clip), ...sound, ...units.map(toTag)];
}

export const shiftTags = (tags: readonly Tag[], ms: number): Tag[] =>
  tags.map((tag) => ({ ...tag, timestamp: (tag.timestamp + ms + 2 ** 32) % 2 ** 32 }));

/** With start codes instead of the lengths of NAL units. For H.264. */
export function toByteStream(tag: Tag): Tag {
  if (!isVideo(tag) || tag.body[1] === 0) return tag;
  const pieces: Buffer[] = [tag.body.subarray(0, 5)];
  for (let at = 5; at < tag.body.length; ) {
    const length = tag.body.readUInt32BE(at);
    pieces.push(Buffer.of(0, 0, 0, 1), tag.body.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return { ...tag, body: Buffer.concat(pieces) };
}

/** As encoders send B-frames that do not delay pictures for them: decoding times are those of arrival. For video only. */
export function undelayed(clip: Clip, stepMs: number): Tag[] {
  const [first] = clip.units;
  return tagsOf(clip).map((tag, i) => {
    if (i === 0) return tag;
    const dtsMs = (i - 1) * stepMs;
    const body = Buffer.from(tag.body);
    body.writeIntBE(Math.round(((clip.units[i - 1]?.ptsUs ?? 0) - (first?.ptsUs ?? 0)) / 1000) - dtsMs, 2, 3);
    return { ...tag, timestamp: dtsMs, body };
  });
}
