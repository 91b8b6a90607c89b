/**
 * Subtitle files (.SRT) that DJI drones record beside a video. Every model writes another text; the times of the subtitles are
 * times in the video. Heights are relative to the take-off point, unless the file has both.
 */
import { type FileReading, type FormatParameters, readText, TelemetryFault } from "./format.ts";
import { normaliseDegrees, toSample } from "./native.ts";

const CUE = /(\d{1,3}):(\d{2}):(\d{2})[,.](\d{3}) {0,4}--> {0,4}(\d{1,3}):(\d{2}):(\d{2})[,.](\d{3})/;
/** `[latitude: 41.4]`, `rel_alt: 1.3`, `BAROMETER:64.3`, `Hb:12.3`. */
const NAMED = /\b([A-Za-z]+(?:_[A-Za-z]+)?) ?: ?(-?\d+(?:\.\d+)?)/g;
/** `GPS(2.17,41.4,18)`, `GPS (2.17, 41.4, 18)`, and with `M` after a third number that is a height. */
const FIX = /GPS ?\((-?\d{1,3}(?:\.\d{1,12})?), ?(-?\d{1,3}(?:\.\d{1,12})?), ?(-?\d{1,6}(?:\.\d{1,12})?)(M?)\)/;
/** `F.PRY (-1.0°, 2.0°, 3.0°)`: pitch, roll, yaw of the aircraft; `G.PRY` of the gimbal. */
const ANGLES = /\b([FG])\.PRY \((-?\d{1,3}(?:\.\d{1,6})?)°, (-?\d{1,3}(?:\.\d{1,6})?)°, (-?\d{1,3}(?:\.\d{1,6})?)°\)/g;
/** `H 5.00m` behind a comma: the height above the take-off point. */
const HEIGHT = /, H (-?\d{1,5}(?:\.\d{1,6})?)m/;
/** A focal length in tenths of a millimetre has no point: `240` is 24.0 mm. */
const FOCAL = /\bfocal_len ?: ?(\d{2,4})(\.\d{1,4})?/;
const DATE = /(\d{4})[-.](\d{1,2})[-.](\d{1,2}) (\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d{3}))?/;

/** Half the width of the film that equivalent focal lengths refer to, in millimetres. */
const HALF_FILM_MM = 18;
/** Longer subtitles are not telemetry. */
const MAX_CUE_CHARACTERS = 4000;

const NO_ALTITUDE =
  "The file has heights above the take-off point only: send takeoff_altitude_m, the altitude of that point above sea level, to get altitudes.";

export function* readDjiSrt(bytes: Uint8Array, parameters: FormatParameters): Generator<FileReading | null> {
  for (const block of splitBlocks(readText(bytes))) {
    const cue = block.length > MAX_CUE_CHARACTERS ? null : CUE.exec(block);
    yield cue === null ? null : readCue(cue, block.slice(cue.index + cue[0].length), parameters);
  }
}

/** Blocks are separated by empty lines. One that is missing only costs that subtitle. */
function* splitBlocks(text: string): Generator<string> {
  let from = 0;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end + 1;
    if (text.slice(at, end < 0 ? text.length : end).trim() === "") {
      if (at > from) yield text.slice(from, at);
      from = next;
    }
    at = next;
  }
  if (from < text.length) yield text.slice(from);
}

function readCue(cue: RegExpExecArray, body: string, parameters: FormatParameters): FileReading | null {
  const [from, to] = [readTime(cue, 1), readTime(cue, 5)];
  if (to < from) return null;
  const named = new Map<string, number>();
  for (const [, written = "", value] of body.matchAll(NAMED)) {
    const name = written.toLowerCase();
    if (!named.has(name) && Number.isFinite(Number(value))) named.set(name, Number(value));
  }
  const timeMs = readDate(body) ?? from;
  const native = {
    ...readPlace(body, named, parameters),
    ...readGimbal(body, named, parameters),
    ...readView(body, named, parameters),
  };
  return {
    sample: toSample(native, timeMs, null),
    native: { timestamp: timeMs / 1000, ...native },
    lack: describeLack(native, named),
    videoMs: from,
    videoErrorMs: Math.min((to - from) / 2, 1000),
  };
}

function readTime(cue: RegExpExecArray, first: number): number {
  const [hours, minutes, seconds, ms] = [0, 1, 2, 3].map((index) => Number(cue[first + index]));
  return (((hours ?? 0) * 60 + (minutes ?? 0)) * 60 + (seconds ?? 0)) * 1000 + (ms ?? 0);
}

/** Local time of the drone, without a zone: read as UTC. It is shown, and not used to place the video. */
function readDate(body: string): number | null {
  const found = DATE.exec(body);
  if (found === null) return null;
  const [year, month, day, hour, minute, second, ms] = found.slice(1).map((text) => Number(text ?? 0));
  const timeMs = Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second, ms);
  return timeMs > 0 ? timeMs : null;
}

function readPlace(body: string, named: ReadonlyMap<string, number>, parameters: FormatParameters) {
  const spot = findSpot(body, named);
  const height = HEIGHT.exec(body)?.[1];
  const above =
    named.get("rel_alt") ??
    named.get("barometer") ??
    named.get("hb") ??
    (height === undefined ? undefined : Number(height)) ??
    named.get("altitude");
  const takeoff = typeof parameters.takeoff_altitude_m === "number" ? parameters.takeoff_altitude_m : null;
  const stated = named.get("abs_alt");
  const altitude = takeoff !== null && above !== undefined ? takeoff + above : (stated ?? above);
  return {
    ...spot,
    ...(isHeight(above) && { rel_altitude: above }),
    ...(isHeight(altitude) && { altitude }),
  };
}

const isHeight = (value: number | undefined): value is number =>
  value !== undefined && value >= -12_000 && value <= 100_000;

/** Most models write the longitude first; the Matrice 300, which adds a height, the latitude. 0, 0 means that there is no fix. */
function findSpot(body: string, named: ReadonlyMap<string, number>) {
  let latitude = named.get("latitude");
  let longitude = named.get("longitude") ?? named.get("longtitude");
  const fix = FIX.exec(body);
  if (fix !== null) {
    const [first, second] = [Number(fix[1]), Number(fix[2])];
    [latitude, longitude] = fix[4] === "M" ? [first, second] : [second, first];
  }
  if (latitude === undefined || longitude === undefined || (latitude === 0 && longitude === 0)) return {};
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude } : {};
}

function readGimbal(body: string, named: ReadonlyMap<string, number>, parameters: FormatParameters) {
  const angles = new Map<string, readonly number[]>();
  for (const [, who = "", ...found] of body.matchAll(ANGLES)) angles.set(who, found.map(Number));
  const [dronePitch, droneRoll, droneYaw] = angles.get("F") ?? [];
  const [pitch = named.get("gb_pitch"), roll = named.get("gb_roll"), yaw = named.get("gb_yaw")] = angles.get("G") ?? [];
  const nose = parameters.gimbal_yaw_frame === "body" ? droneYaw : 0;
  const isWhole = pitch !== undefined && roll !== undefined && yaw !== undefined && nose !== undefined;
  return {
    ...(isWhole && {
      camera_pitch: normaliseDegrees(pitch),
      camera_roll: normaliseDegrees(roll),
      camera_yaw: normaliseDegrees(yaw + nose),
    }),
    ...(dronePitch !== undefined && { drone_pitch: normaliseDegrees(dronePitch) }),
    ...(droneRoll !== undefined && { drone_roll: normaliseDegrees(droneRoll) }),
    ...(droneYaw !== undefined && { drone_yaw: normaliseDegrees(droneYaw) }),
  };
}

/** The fields of view that were sent, else those of the focal length for 16:9, which is that of 35 mm film. */
function readView(body: string, named: ReadonlyMap<string, number>, parameters: FormatParameters) {
  const zoom = Math.max(1, named.get("dzoom_ratio") ?? 1);
  const { sensor_hfov: hfov, sensor_vfov: vfov } = parameters;
  if (typeof hfov === "number" && typeof vfov === "number")
    return { sensor_hfov: narrow(hfov, zoom), sensor_vfov: narrow(vfov, zoom) };
  const focal = FOCAL.exec(body);
  if (focal === null) return {};
  const number = Number(`${focal[1]}${focal[2] ?? ""}`);
  const focalMm = (focal[2] === undefined && number >= 100 ? number / 10 : number) * zoom;
  if (!(focalMm > 1)) return {};
  const angle = (halfMm: number): number => (2 * Math.atan(halfMm / focalMm) * 180) / Math.PI;
  return { sensor_hfov: angle(HALF_FILM_MM), sensor_vfov: angle((HALF_FILM_MM * 9) / 16) };
}

const narrow = (degrees: number, zoom: number): number =>
  (2 * Math.atan(Math.tan((degrees * Math.PI) / 360) / zoom) * 180) / Math.PI;

function describeLack(native: Readonly<Record<string, unknown>>, named: ReadonlyMap<string, number>): string | null {
  const lacks: string[] = [];
  if (native.latitude === undefined)
    lacks.push("The subtitles contain no position: this model records none, or had no fix.");
  if (native.camera_yaw === undefined)
    lacks.push(
      "The subtitles contain no gimbal angles, as of most models: without them detections get no coordinates. Flight logs have them.",
    );
  if (native.sensor_hfov === undefined)
    lacks.push("The subtitles contain no focal length: send sensor_hfov and sensor_vfov.");
  if (native.rel_altitude !== undefined && !named.has("abs_alt")) lacks.push(NO_ALTITUDE);
  return lacks.length === 0 ? null : lacks.join(" ");
}

/** For the message that nothing was found. */
export const DJI_SRT_EXPECTED = new TelemetryFault(
  "Expected a subtitle file of a DJI drone: blocks with a line like 00:00:00,000 --> 00:00:00,033 and telemetry below it.",
);
