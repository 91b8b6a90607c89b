/** The telemetry and the tracks of a frame as a packet of MISB ST 0601, with targets of ST 0903. */
import type { Tracks } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import { AHEAD_MS, writePacket } from "../../telemetry/misb-0601.ts";
import { numberPixel, type VmtiTarget, writeVmti } from "../../telemetry/misb-0903.ts";
import type { FrameMetadata } from "../element.ts";

export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

const RADIANS = Math.PI / 180;
const EARTH_M = 6_371_000;
/** A line of sight that is flatter meets the ground too far away. */
const STEEPEST_PITCH = -1;
/** Versions of the standards that are written. */
const UAS_VERSION = 19;
const VMTI_VERSION = 6;
/** Of item 2, which counts leap seconds. */
const LEAP_SECONDS = -29;
/** Targets whose packet stays below the 64 KiB of a PES packet. */
const MAX_TARGETS = 500;

/** Null without telemetry: then there is nothing to say about the camera. */
export function describeFrame(captureNs: bigint, meta: FrameMetadata, size: PictureSize): Buffer | null {
  const telemetry = meta.telemetry as FrameTelemetry | undefined;
  if (telemetry === undefined) return null;
  const { hfov, vfov, position, attitude } = telemetry;
  const centre = findCentre(telemetry);
  const timeStamp = captureNs / 1000n + BigInt(Math.round(AHEAD_MS * 1000));
  const targets = describeTargets(meta, size, centre);
  return writePacket(
    {
      ...{ timeStamp, leapSeconds: LEAP_SECONDS, version: UAS_VERSION, imageCoordinateSystem: "Geodetic WGS84" },
      ...{ imageSourceSensor: "EO", sensorHfov: hfov, sensorVfov: vfov },
      ...(position && {
        ...{
          sensorLatitude: position.latitude,
          sensorLongitude: position.longitude,
          sensorAltitude: position.altitude,
        },
      }),
      // The attitude of the aircraft is not known: its heading is that of the camera, and it is level.
      ...(attitude && {
        ...{ platformHeading: (attitude.yaw + 360) % 360, platformPitchFull: 0, platformRollFull: 0, sensorAzimuth: 0 },
        ...{ sensorElevation: attitude.pitch, sensorRoll: (attitude.roll + 360) % 360 },
      }),
      ...(centre && {
        ...{ frameLatitude: centre.latitude, frameLongitude: centre.longitude, frameElevation: centre.altitude },
        slantRange: centre.rangeM,
      }),
    },
    targets === null ? {} : { vmti: writeVmti({ ...targets, timeStamp }) },
  );
}

interface Centre {
  readonly latitude: number;
  readonly longitude: number;
  readonly altitude: number;
  readonly rangeM: number;
}

/** Where the line of sight meets the ground, which is taken to be level. */
function findCentre({ position, attitude }: FrameTelemetry): Centre | null {
  if (position === null || attitude === null || attitude.pitch > STEEPEST_PITCH || position.relAltitude <= 0)
    return null;
  const rangeM = position.relAltitude / Math.sin(-attitude.pitch * RADIANS);
  const acrossM = rangeM * Math.cos(attitude.pitch * RADIANS);
  const [north, east] = [Math.cos(attitude.yaw * RADIANS) * acrossM, Math.sin(attitude.yaw * RADIANS) * acrossM];
  return {
    latitude: position.latitude + north / EARTH_M / RADIANS,
    longitude: position.longitude + east / (EARTH_M * Math.cos(position.latitude * RADIANS)) / RADIANS,
    altitude: position.altitude - position.relAltitude,
    rangeM,
  };
}

/** Null without tracking. Positions of targets are relative to the centre of the frame. */
function describeTargets({ tracks: given, places: found }: FrameMetadata, size: PictureSize, centre: Centre | null) {
  const tracks = given as Tracks | undefined;
  const places = found as Places | undefined;
  if (tracks === undefined) return null;
  const { width, height } = size;
  const pixel = (x: number, y: number): number =>
    numberPixel(clamp(Math.round(x * width), width), clamp(Math.round(y * height), height), width);
  const targets = tracks.objects.slice(0, MAX_TARGETS).map(({ id, box, confidence }, index): VmtiTarget => {
    const [left, top, wide, high] = box;
    const spot = places?.objects[index]?.spot ?? null;
    return {
      ...{ id, centroid: pixel(left + wide / 2, top + high / 2), confidence: confidence * 100 },
      ...{ topLeft: pixel(left, top), bottomRight: pixel(left + wide, top + high) },
      ...(spot !== null &&
        centre !== null && {
          ...{ latitudeOffset: spot.latitude - centre.latitude, longitudeOffset: spot.longitude - centre.longitude },
        }),
    };
  });
  return {
    ...{ systemName: "Windhover", version: VMTI_VERSION, frameWidth: width, frameHeight: height, targets },
    ...{ targetsDetected: tracks.objects.length, targetsReported: targets.length },
  };
}

const clamp = (value: number, size: number): number => Math.min(size - 1, Math.max(0, value));
