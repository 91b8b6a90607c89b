/** From what the frame metadata says of one object to the entry of the interface. Pure: messages, notices and webhooks say the same. */
import type { TrackEntry } from "./detection-message.ts";
import type { Box, Detection, Track } from "./detections.ts";
import type { Place } from "./places.ts";

/** Without tracking the id is 0. What is not known of the place is left out. */
export function describeTrack(object: Detection | Track, place: Place | null, inputSize: PictureSize): TrackEntry {
  const entry = describe(object, inputSize);
  if (place !== null) addPlace(entry, place);
  return entry;
}

interface PictureSize {
  readonly width: number;
  readonly height: number;
}

function describe(object: Detection | Track, { width, height }: PictureSize): TrackEntry {
  const [x, y, wide, high] = object.box;
  return {
    track_id: "id" in object ? object.id : 0,
    class_id: object.classId,
    class_name: object.className,
    bbox: round([x * width, y * height, wide * width, high * height], 100),
    scaled_bbox: round(object.box, 1_000_000),
    confidence: Math.round(object.confidence * 10_000) / 100,
  };
}

/** What is not known is left out. */
function addPlace(entry: TrackEntry, { spot, distance, azimuth, elevation, isDistanceEstimated }: Place): void {
  if (spot !== null) {
    entry.latitude = part(spot.latitude, PARTS_OF_DEGREE);
    entry.longitude = part(spot.longitude, PARTS_OF_DEGREE);
    entry.altitude = part(spot.altitude, PARTS_OF_METRE);
  }
  if (distance !== null) entry.distance = part(distance, PARTS_OF_METRE);
  entry.azimuth = part(azimuth, PARTS_OF_ANGLE);
  entry.elevation = part(elevation, PARTS_OF_ANGLE);
  if (isDistanceEstimated) entry.distance_estimated = true;
  if (spot === null) return;
  entry.position_error_m = part(spot.errorM, PARTS_OF_METRE);
  if (spot.speedMps !== null) entry.speed_mps = part(spot.speedMps, PARTS_OF_METRE);
  // 359.9999 is rounded to the north and not to 360.
  if (spot.heading !== null) entry.heading = part(spot.heading, PARTS_OF_ANGLE) % 360;
}

/** A ten-millionth of a degree is a centimetre on the ground. */
const PARTS_OF_DEGREE = 10_000_000;
const PARTS_OF_METRE = 100;
const PARTS_OF_ANGLE = 1000;

/** To so many parts of one: short numbers, the same on every machine. Never the negative zero. */
const part = (value: number, parts: number): number => Math.round(value * parts) / parts + 0;

const round = (box: Box, parts: number): Box => box.map((value) => part(value, parts)) as Box;
