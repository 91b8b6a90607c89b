/** What a video file says about itself beside its pictures: when it was recorded, and telemetry as KLV. */
import { open } from "node:fs/promises";
import { findCreationTime } from "../../media/mp4/creation-time.ts";
import { KlvUnits } from "../../media/mpegts/klv-units.ts";
import type { VideoFacts } from "../../schemas/probe.ts";
import { type FileReading, type Reading, TelemetryFault } from "../../telemetry/format.ts";
import { createFormat } from "../../telemetry/formats.ts";
import type { NewTelemetry } from "../store/source-telemetry.ts";
import { collect } from "../telemetry/import-file.ts";
import { MAX_SAMPLES } from "../telemetry/stored-samples.ts";

const FORMAT = "misb_0601";
/** Packets are placed by their PTS: they need no time stamp. */
const NO_ARRIVAL = 0;
/** Small: other requests get a turn after each. */
const CHUNK_BYTES = 2 ** 17;
/** Joined by PTS, which has ticks of 11 µs; senders write them with the time of the frame. */
const PTS_ERROR_MS = 5;
/** Without a PTS, metadata belongs to the picture that is sent at the same time. */
const PICTURE_ERROR_MS = 100;

/** Null: its container does not say, or the clock of the camera was not set. */
export async function readRecordedAt(path: string, container: VideoFacts["container"]): Promise<Date | null> {
  if (container !== "mp4" && container !== "mov") return null;
  const file = await open(path);
  try {
    const { size } = await file.stat();
    return await findCreationTime({
      bytes: size,
      read: async (at, bytes) => {
        const buffer = Buffer.alloc(bytes);
        const { bytesRead } = await file.read(buffer, 0, bytes, at);
        return buffer.subarray(0, bytesRead);
      },
    });
  } finally {
    await file.close();
  }
}

export interface StreamContent {
  readonly durationMs: number | null;
  /** Its ST 0601 packets; null if it has none that can be used. */
  readonly telemetry: NewTelemetry | null;
}

/** Reads a transport stream to its end: its demuxer knows neither. */
export async function readTransportStream(path: string, signal: AbortSignal): Promise<StreamContent> {
  const found: { readonly reading: Reading; readonly us: number | null; readonly isTimed: boolean }[] = [];
  const format = createFormat(FORMAT);
  const units = new KlvUnits(({ ptsUs, pictureUs, data }) => {
    const reading = found.length < MAX_SAMPLES ? readUnit(() => format.read(data, NO_ARRIVAL)) : null;
    if (reading !== null) found.push({ reading, us: ptsUs ?? pictureUs, isTimed: ptsUs !== null });
  });
  const file = await open(path);
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES);
      if (bytesRead === 0) break;
      if (signal.aborted) break;
      units.push(chunk.subarray(0, bytesRead));
    }
    units.end();
  } finally {
    await file.close();
  }
  const [zero, last] = [units.firstPictureUs, units.lastPictureUs];
  if (zero === null || last === null) return { durationMs: null, telemetry: null };
  const durationMs = Math.round((last - zero) / 1000);
  const readings = found.map(
    ({ reading, us, isTimed }): FileReading => ({
      ...reading,
      // Without a PTS, and before the first picture: it belongs to that one.
      videoMs: ((us ?? zero) - zero) / 1000,
      videoErrorMs: isTimed ? PTS_ERROR_MS : PICTURE_ERROR_MS,
    }),
  );
  return { durationMs, telemetry: readings.length === 0 ? null : await describeReadings(readings, signal) };
}

async function describeReadings(readings: readonly FileReading[], signal: AbortSignal): Promise<NewTelemetry | null> {
  const collected = await collect(readings, signal).catch((error: unknown) => {
    // None of them has a position or an attitude: the video can be used all the same.
    if (error instanceof TelemetryFault) return null;
    throw error;
  });
  if (collected === null) return null;
  const { writer, times, lack } = collected;
  return {
    ...{ format: FORMAT, fileName: null, samples: writer.count, firstMs: times.firstMs, lastMs: times.lastMs, lack },
    ...{ offsetMs: 0, offsetErrorMs: times.videoErrorMs ?? PICTURE_ERROR_MS, offsetMethod: "video_time" },
    content: await writer.finish(),
  };
}

/** Null for a damaged packet: others follow. */
function readUnit(read: () => Reading | null): Reading | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof TelemetryFault) return null;
    throw error;
  }
}
