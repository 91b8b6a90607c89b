/** How the clock of recorded telemetry is aligned to its video, before the picture is compared with it. */

/** What a telemetry file says about time. */
export interface TelemetryTimes {
  readonly firstMs: number;
  readonly lastMs: number;
  /** Its times are times in the video, with this standard deviation; null: they are not. */
  readonly videoErrorMs: number | null;
  /** When the camera recorded, by the clock of the telemetry, as far as the file states it. */
  readonly recordings: readonly RecordedSpan[];
}

export interface RecordedSpan {
  readonly fromMs: number;
  readonly toMs: number;
  /** Time between the samples at its start. */
  readonly stepMs: number;
}

export interface VideoTimes {
  /** Null: unknown. */
  readonly durationMs: number | null;
  /** When it was recorded, as its container states. */
  readonly recordedMs: number | null;
}

export type OffsetMethod = "given" | "video_time" | "recording_flag" | "creation_time" | "same_start";

export interface OffsetEstimate {
  /** To be added to the times of telemetry to get the time in the video. */
  readonly offsetMs: number;
  /** One standard deviation. */
  readonly errorMs: number;
  readonly method: OffsetMethod;
}

/** A user who reads a clock in the video sees a difference of half a second. */
const GIVEN_ERROR_MS = 250;
/** Containers state whole seconds; some programs the second in which the recording ended its first part. */
const CREATION_ERROR_MS = 700;
/** Delay between the button and the first frame. */
const RECORDING_DELAY_MS = 200;
/** Of a telemetry file that is about as long as its video. */
const SAME_LENGTH_ERROR_MS = 500;
const SAME_LENGTH = 0.02;

/** `givenMs`: where in the video the first sample belongs, as the user states it. */
export function estimateOffset(telemetry: TelemetryTimes, video: VideoTimes, givenMs: number | null): OffsetEstimate {
  const { firstMs, lastMs, videoErrorMs } = telemetry;
  if (givenMs !== null) return { offsetMs: givenMs - firstMs, errorMs: GIVEN_ERROR_MS, method: "given" };
  if (videoErrorMs !== null) return { offsetMs: 0, errorMs: Math.max(videoErrorMs, 1), method: "video_time" };
  const recording = findRecording(telemetry, video);
  if (recording !== null) {
    const errorMs = Math.hypot(RECORDING_DELAY_MS, recording.stepMs / 2);
    return { offsetMs: -recording.fromMs, errorMs, method: "recording_flag" };
  }
  const { recordedMs, durationMs } = video;
  if (recordedMs !== null && recordedMs <= lastMs && recordedMs + (durationMs ?? 0) >= firstMs)
    return { offsetMs: -recordedMs, errorMs: CREATION_ERROR_MS, method: "creation_time" };
  const differenceMs = durationMs === null ? 0 : Math.abs(lastMs - firstMs - durationMs);
  const isSameLength = durationMs !== null && differenceMs <= Math.max(1000, SAME_LENGTH * durationMs);
  // Within the longer one, the shorter one may begin anywhere.
  const errorMs = isSameLength ? SAME_LENGTH_ERROR_MS : Math.max(1000, differenceMs / Math.sqrt(12));
  return { offsetMs: -firstMs, errorMs, method: "same_start" };
}

/** The recording that is as long as the video; with one recording, that one. */
function findRecording({ recordings }: TelemetryTimes, { durationMs }: VideoTimes): RecordedSpan | null {
  const difference = ({ fromMs, toMs }: RecordedSpan): number => Math.abs(toMs - fromMs - (durationMs ?? 0));
  const [best, next] = [...recordings].sort((a, b) => difference(a) - difference(b));
  if (best === undefined || next === undefined) return best ?? null;
  // Two that are equally long cannot be distinguished.
  return durationMs !== null && difference(next) - difference(best) > 1000 ? best : null;
}
