/** The video of a notice: from recordings and rings of a stream, or from the file. */
import { cutRecorded, type TimeRange } from "../media/recordings/clip-file.ts";
import { ElsewhereError, type Recordings } from "../media/recordings/recordings.ts";
import { ServiceError } from "../service-error.ts";
import type { EvidenceJob } from "../store/evidence.ts";
import { type CutClip, ElsewhereNode, type FoundClip } from "./evidence.ts";

/** A clip of a video file, without encoding; times are positions in the file. Null: the file cannot be cut. */
export type CutVideo = (
  source: { readonly userUuid: string; readonly sourceUuid: string },
  range: TimeRange,
) => Promise<FoundClip | null>;

export const cutEvidence =
  (recordings: Pick<Recordings, "findRangeOf">, cutVideo: CutVideo | null): CutClip =>
  async (job, range) => {
    const { userUuid, sourceUuid, positionMs, isPlaced } = job;
    if (positionMs !== null) return cutVideo === null ? null : cutFile(job, positionMs, range, cutVideo);
    try {
      const files = await recordings.findRangeOf(userUuid, sourceUuid, range, isPlaced);
      return await cutRecorded(files, range);
    } catch (error) {
      if (error instanceof ElsewhereError) return new ElsewhereNode(error.nodeUuid);
      throw error;
    }
  };

/** In the time of the notice. The clip is shorter at the start and the end of the video. */
async function cutFile(
  { userUuid, sourceUuid, happenedAt }: EvidenceJob,
  positionMs: number,
  { fromMs, toMs }: TimeRange,
  cutVideo: CutVideo,
): Promise<FoundClip | null> {
  const shiftMs = happenedAt.getTime() - positionMs;
  const shift = (range: TimeRange) => ({ fromMs: range.fromMs + shiftMs, toMs: range.toMs + shiftMs });
  try {
    const range = { fromMs: Math.max(0, fromMs - shiftMs), toMs: toMs - shiftMs };
    const found = await cutVideo({ userUuid, sourceUuid }, range);
    return found && { ...found, ...shift(found), gaps: found.gaps.map(shift) };
  } catch (error) {
    // The source was deleted.
    if (error instanceof ServiceError && error.status === 404) return null;
    throw error;
  }
}
