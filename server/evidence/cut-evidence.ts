/** The video of a notice: from recordings and rings of a stream, or from the file. */
import { cutRecorded, type RecordedClip, type TimeRange } from "../media/recordings/clip-file.ts";
import { ElsewhereError, type Recordings } from "../media/recordings/recordings.ts";
import { ServiceError } from "../service-error.ts";
import type { EvidenceJob } from "../store/evidence.ts";
import { type CutClip, ElsewhereNode, NeedsEncoding, NoVideo } from "./evidence.ts";

/** Cuts a clip of a video file without encoding; times are positions in the file. Rejects with `ServiceError`. */
export type CutVideo = (
  source: { readonly userUuid: string; readonly sourceUuid: string },
  range: TimeRange,
) => Promise<RecordedClip | NeedsEncoding>;

/** @param whyNot why there is no video of a source that is pulled; null: there may be */
export const cutEvidence =
  (
    recordings: Pick<Recordings, "findRangeOf">,
    cutVideo: CutVideo,
    whyNot: (sourceUuid: string) => string | null = () => null,
  ): CutClip =>
  async (job, range) => {
    const { userUuid, sourceUuid, positionMs, isPlaced } = job;
    if (positionMs !== null) return cutFile(job, positionMs, range, cutVideo);
    try {
      const files = await recordings.findRangeOf(userUuid, sourceUuid, range, isPlaced);
      const found = await cutRecorded(files, range);
      const reason = found === null ? whyNot(sourceUuid) : null;
      return reason === null ? found : new NoVideo(reason);
    } catch (error) {
      if (error instanceof ElsewhereError) return new ElsewhereNode(error.nodeUuid);
      throw error;
    }
  };

/** The service is the reason, and it may pass. */
const PASSING: readonly string[] = ["storage_unavailable", "disk_full"];

/** In the time of the notice. The clip is shorter at the start and the end of the video. */
async function cutFile(
  { userUuid, sourceUuid, happenedAt }: EvidenceJob,
  positionMs: number,
  { fromMs, toMs }: TimeRange,
  cutVideo: CutVideo,
): Promise<RecordedClip | NeedsEncoding | NoVideo> {
  const shiftMs = happenedAt.getTime() - positionMs;
  try {
    const range = { fromMs: Math.max(0, fromMs - shiftMs), toMs: toMs - shiftMs };
    const found = await cutVideo({ userUuid, sourceUuid }, range);
    const toNotice = (ms: number): number => ms + shiftMs;
    if (found instanceof NeedsEncoding)
      return new NeedsEncoding({ fromMs: toNotice(found.range.fromMs), toMs: toNotice(found.range.toMs) });
    return { ...found, fromMs: toNotice(found.fromMs), toMs: toNotice(found.toMs), gaps: [] };
  } catch (error) {
    if (!(error instanceof ServiceError) || PASSING.includes(error.code)) throw error;
    return new NoVideo(error.message);
  }
}
