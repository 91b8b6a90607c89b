import { Compile } from "typebox/compile";
import type { JsonRecord } from "../../schemas/json.ts";
import {
  CALIBRATION_CHANNEL,
  type FrameTelemetry,
  HeadingCalibration,
  TELEMETRY_CHANNEL,
  TelemetrySample,
} from "../../schemas/telemetry.ts";
import type { Frame, Handler, Services } from "../element.ts";
import { type Camera, findCameraMotion, findCentreShift } from "./camera-motion.ts";
import { ClockOffset } from "./clock-offset.ts";
import { turnBy } from "./geometry.ts";
import { describePose, findPose, type Pose } from "./pose.ts";
import { Samples } from "./samples.ts";
import { PictureTurns } from "./turn-match.ts";

export interface TelemetryProperties {
  readonly offsetMs: "auto" | number;
  readonly join: "interpolate" | "latest";
  readonly extrapolateMs: number;
  readonly waitMs: number;
  readonly cameraMotion: boolean;
}

/**
 * Camera motion is written only if samples are at least this frequent and this near to the frame: otherwise motion from
 * the image is more accurate. On a pan of 30 degrees per second, telemetry causes as few id switches as the image from
 * 4 Hz on, and three times as many at 2 Hz (test/flight).
 */
const DENSE_MS = 300;
const NEAR_MS = 300;
/** Maximum error of the clock offset. */
const AGREE_MS = 50;
/** Frames farther apart have little in common. */
const LONGEST_STEP_MS = 1000;

/** Interval of the reports of telemetry that came with the video, by its time. */
const REPORT_MS = 100;

/** Compiled: a flight may have many samples. */
const SAMPLE = Compile(TelemetrySample);
const CALIBRATION = Compile(HeadingCalibration);

type TelemetryDeps = Pick<Services, "listen" | "log" | "job" | "emit">;

/** Writes `telemetry` and `cameraMotion`. Frames that wait for a sample are joined when it arrives. */
export class TelemetryHandler implements Omit<Handler, "update" | "format"> {
  readonly inFlight: number;
  readonly latencyMs: number;
  readonly #services: TelemetryDeps;
  readonly #samples = new Samples();
  readonly #offset: ClockOffset;
  readonly #turns = new PictureTurns();
  readonly #awaited = new Awaited();
  readonly #unsubscribes: readonly (() => void)[];
  readonly #now: () => number;
  #properties: TelemetryProperties;
  #heading: HeadingCalibration = { offset: 0, error: null };
  /** For samples from a file, whose first belongs to the first frame: offset from their times to those of the video. */
  #alignmentMs = 0;
  #firstFrameMs: number | null = null;
  #lastFrameMs: number | null = null;
  #hasWarned = false;
  /** Samples came with the video, or were recorded for it: the owner of the graph has not seen them. */
  #isOfVideo = false;
  #reportedMs = Number.NEGATIVE_INFINITY;

  /** `now`: local clock, Unix milliseconds; read for live video only. */
  constructor(properties: TelemetryProperties, services: TelemetryDeps, now: () => number = Date.now) {
    this.#now = now;
    this.#properties = properties;
    this.#services = services;
    this.#offset = new ClockOffset(properties.offsetMs);
    this.inFlight = services.job.live && properties.waitMs > 0 ? 64 : 1;
    this.latencyMs = services.job.live ? properties.waitMs : 0;
    this.#unsubscribes = [
      services.listen(TELEMETRY_CHANNEL, (message) => this.#onMessage(message)),
      services.listen(CALIBRATION_CHANNEL, (message) => {
        if (CALIBRATION.Check(message)) this.#heading = message;
      }),
    ];
  }

  process(frame: Frame): Promise<void> | undefined {
    const frameMs = Number(frame.captureNs / 1000n) / 1000;
    const beforeMs = frame.discontinuity ? null : this.#lastFrameMs;
    this.#lastFrameMs = frameMs;
    if (frame.discontinuity) this.#offset.restartVideo();
    if (this.#services.job.live) this.#offset.noteFrame(frameMs, this.#now());
    if (this.#samples.isEmpty && this.#samples.fixed === null) return;
    this.#align(frameMs);
    this.#observe(frame, frameMs);
    const offset = this.#offset.read(frameMs);
    const sampleMs = frameMs - offset.offsetMs - this.#alignmentMs;
    const write = (): void => this.#write(frame, sampleMs, beforeMs === null ? null : frameMs - beforeMs, offset);
    const { waitMs } = this.#properties;
    if (!this.#services.job.live || waitMs === 0 || !this.#isAwaited(sampleMs)) {
      write();
      return;
    }
    return this.#awaited
      .wait(() => !this.#isAwaited(sampleMs), waitMs, frame.signal)
      .then(() => {
        if (!frame.signal.aborted) write();
      });
  }

  update(properties: TelemetryProperties): void {
    this.#properties = properties;
    this.#offset.set(properties.offsetMs);
    if (!this.#offset.isEstimated) this.#turns.forget();
  }

  flush(): void {
    this.#lastFrameMs = null;
    this.#offset.restartVideo();
    this.#turns.forget();
    this.#awaited.release();
  }

  end(): void {
    this.#awaited.release();
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
    this.#awaited.release();
  }

  #onMessage(message: JsonRecord): void {
    const { samples } = message;
    if (!Array.isArray(samples)) this.#take(message);
    else for (const sample of samples) this.#take(sample);
    this.#awaited.notify();
  }

  #take(message: unknown): void {
    if (!SAMPLE.Check(message)) {
      if (!this.#hasWarned) this.#services.log.warn("invalid telemetry sample ignored");
      this.#hasWarned = true;
      return;
    }
    const { timeMs, receivedMs, videoErrorMs } = message;
    const outcome = this.#samples.take(message);
    if (outcome === "restarted") {
      this.#offset.restart();
      this.#turns.forget();
      this.#services.log.warn("telemetry clock was set: earlier samples dropped");
    }
    if (videoErrorMs !== undefined) {
      this.#isOfVideo = true;
      this.#offset.noteKnown(videoErrorMs);
    } else if (outcome !== "ignored" && timeMs !== null && receivedMs !== null)
      this.#offset.noteArrival(timeMs, receivedMs);
    // The first sample of a file is known once all samples have arrived, which is before the first frame.
    else if (receivedMs === null) this.#alignmentMs = this.#findAlignment();
  }

  #align(frameMs: number): void {
    if (this.#firstFrameMs !== null) return;
    this.#firstFrameMs = frameMs;
    this.#alignmentMs = this.#findAlignment();
  }

  #findAlignment(): number {
    const startMs = this.#samples.fileStartMs;
    return startMs === null || this.#firstFrameMs === null ? 0 : this.#firstFrameMs - startMs;
  }

  /** Whether a sample after that time may still arrive: none has, and the last one is recent. */
  #isAwaited(sampleMs: number): boolean {
    const last = (this.#samples.attitudes.last ?? this.#samples.spots.last)?.timeMs;
    return last !== undefined && last < sampleMs && sampleMs - last < this.#properties.extrapolateMs;
  }

  #observe(frame: Frame, frameMs: number): void {
    const { attitudes } = this.#samples;
    if (!this.#offset.isEstimated || attitudes.size < 2) return;
    this.#turns.observe(frame, frameMs);
    const { first, last } = attitudes;
    if (first === null || last === null || !this.#turns.isDue(frameMs)) return;
    const covered = { fromMs: first.timeMs + this.#alignmentMs, toMs: last.timeMs + this.#alignmentMs };
    const aspect = frame.format.width / frame.format.height;
    // Steps are consecutive: the end of one is the start of the next.
    let end: { readonly ms: number; readonly camera: Camera | null } | null = null;
    const cameraAt = (ms: number): Camera | null =>
      end?.ms === ms ? end.camera : asCamera(this.#find(ms - this.#alignmentMs));
    const match = this.#turns.match(this.#offset.targetMs, covered, (fromMs, toMs) => {
      const [from, to] = [cameraAt(fromMs), cameraAt(toMs)];
      end = { ms: toMs, camera: to };
      return from === null || to === null ? null : findCentreShift(from, to, aspect);
    });
    if (match !== null) this.#offset.noteMatch(match);
  }

  #find(sampleMs: number): Pose | null {
    const pose = findPose(this.#samples, sampleMs, this.#properties);
    const { offset } = this.#heading;
    if (pose === null || pose.attitude === null || offset === 0) return pose;
    return { ...pose, attitude: { ...pose.attitude, value: turnBy(pose.attitude.value, [0, 0, offset]) } };
  }

  #write(
    frame: Frame,
    sampleMs: number,
    stepMs: number | null,
    { offsetMs, errorMs }: { readonly offsetMs: number; readonly errorMs: number },
  ): void {
    const pose = this.#find(sampleMs);
    if (pose === null) return;
    const isSure = stepMs !== null && errorMs <= AGREE_MS;
    const motion = !isSure ? null : this.#findMotion(frame, pose, sampleMs - stepMs, stepMs);
    const { offset, error } = this.#heading;
    const telemetry = {
      ...describePose(pose, pose.isFixed ? 0 : offsetMs, errorMs),
      ...(error !== null && { heading: { offset, error } }),
    };
    frame.write({ telemetry, ...(motion !== null && { cameraMotion: motion }) });
    if (this.#isOfVideo) this.#report(telemetry, Number(frame.captureNs / 1000n) / 1000);
  }

  #report({ hfov, vfov, position, attitude }: FrameTelemetry, frameMs: number): void {
    if (Math.abs(frameMs - this.#reportedMs) < REPORT_MS) return;
    this.#reportedMs = frameMs;
    const place = position && {
      ...{ latitude: position.latitude, longitude: position.longitude },
      ...{ altitude: position.altitude, rel_altitude: position.relAltitude },
    };
    const angles = attitude && { camera_yaw: attitude.yaw, camera_pitch: attitude.pitch, camera_roll: attitude.roll };
    const message = { timestamp: frameMs / 1000, sensor_hfov: hfov, sensor_vfov: vfov, ...place, ...angles };
    this.#services.emit({ type: "telemetry", message });
  }

  /** Both ends by current knowledge: a sample that corrects an extrapolation is not a motion of the camera. */
  #findMotion(frame: Frame, pose: Pose, beforeMs: number, stepMs: number) {
    const { cameraMotion, join } = this.#properties;
    if (!cameraMotion || join === "latest" || pose.isFixed || !isDense(pose)) return null;
    if (stepMs <= 0 || stepMs > LONGEST_STEP_MS) return null;
    const before = this.#find(beforeMs);
    if (before === null || !isDense(before)) return null;
    const [from, to] = [asCamera(before), asCamera(pose)];
    return from === null || to === null ? null : findCameraMotion(from, to, frame.format.width / frame.format.height);
  }
}

const isDense = ({ attitude }: Pose): boolean =>
  attitude !== null && attitude.gapMs !== null && attitude.gapMs <= DENSE_MS && attitude.ageMs <= NEAR_MS;

const asCamera = (pose: Pose | null): Camera | null =>
  pose?.attitude ? { view: pose.view.value, attitude: pose.attitude.value, spot: pose.spot?.value ?? null } : null;

/** Frames that wait for a condition, up to a time limit. */
class Awaited {
  readonly #waiting = new Set<{ isReady(): boolean; done(): void }>();

  /** Resolves when `isReady` holds, on timeout, or on abort. */
  wait(isReady: () => boolean, limitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(entry);
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const entry = { isReady, done };
      const timer = setTimeout(done, limitMs);
      signal.addEventListener("abort", done, { once: true });
      this.#waiting.add(entry);
    });
  }

  /** Checks the conditions again. */
  notify(): void {
    for (const entry of [...this.#waiting]) if (entry.isReady()) entry.done();
  }

  /** Resolves all. */
  release(): void {
    for (const entry of [...this.#waiting]) entry.done();
  }
}
