import type { TrackSpot } from "../schemas/track-report.ts";
import type { WholeTrack } from "./format.ts";
import { TRACKS_FORMATS, type TracksFormatName } from "./formats.ts";

export const PROCESS_UUID = "01890000-0000-7000-8000-000000000001";
const START_MS = 1_700_000_000_000;

export const spotAt = (latitude: number, longitude: number, change: Partial<TrackSpot> = {}): TrackSpot => ({
  ...{ latitude, longitude, altitude: 519.204, errorM: 1.25, speedMps: 3.5, heading: 90.04 },
  ...change,
});

/** A track with a point a second. */
export function trackOf(
  id: number,
  spots: readonly (TrackSpot | null)[],
  change: Partial<WholeTrack> = {},
): WholeTrack {
  return {
    ...{ id, classId: 2, className: "car", firstSeenMs: START_MS, lastSeenMs: START_MS + 5_000, sightings: 50 },
    confidence: { best: 0.9, mean: 0.75, least: 0.4 },
    box: [10, 20.5, 30, 40],
    isLive: false,
    points: spots.map((spot, second) => ({
      timeMs: START_MS + second * 1000,
      confidence: 0.8,
      box: [10 + second, 20.5, 30, 40],
      spot,
    })),
    ...change,
  };
}

export function writeAll(name: TracksFormatName, tracks: readonly WholeTrack[], title = "rtsp://cam-3/main"): string {
  const { writeHead, writeTrack, writeFoot } = TRACKS_FORMATS[name];
  let text = writeHead({ title, processUuid: PROCESS_UUID });
  let isFirst = true;
  for (const track of tracks) {
    const written = writeTrack(track, isFirst);
    isFirst &&= written === "";
    text += written;
  }
  return text + writeFoot();
}
