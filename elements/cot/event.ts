/** Formats objects, the camera and its point of interest as Cursor on Target events, version 2.0. */
import type { PictureCentre, Place } from "../../schemas/places.ts";
import type { CameraAttitude, CameraPosition } from "../../schemas/telemetry.ts";
import { geoidHeightM } from "../../terrain/geoid.ts";

export interface Sighting {
  readonly processUuid: string;
  readonly id: number;
  readonly className: string;
  readonly confidence: number;
  readonly spot: NonNullable<Place["spot"]>;
  readonly ellipse?: Place["ellipse"];
}

interface EventTimes {
  /** Capture time of the frame. */
  readonly timeMs: number;
  readonly staleMs: number;
}

/** Fits into one datagram on any network; `writeEvent` stays below it for any class name. */
export const MAX_EVENT_BYTES = 1400;

/** Machine-generated, by an automatic tracker. */
const HOW = "m-a";
/** "Unknown" by the standard. */
const UNKNOWN = "9999999.0";
const MAX_NAME_LETTERS = 40;

/**
 * The circular error is one standard deviation, as ours. The standard's height is above the ellipsoid, ours above sea
 * level: EGM96 is between them.
 */
export function writeEvent(sighting: Sighting, { timeMs, staleMs }: EventTimes, affiliation: Affiliation): string {
  const { processUuid, id, className, confidence, spot, ellipse } = sighting;
  const { altitude, errorM, speedMps, heading } = spot;
  const callsign = escapeXml(`${className.slice(0, MAX_NAME_LETTERS)} ${id}`);
  const track =
    heading === null || speedMps === null ? "" : `<track course="${round(heading, 1)}" speed="${round(speedMps, 2)}"/>`;
  const shape =
    ellipse === undefined
      ? ""
      : `<shape><ellipse major="${round(ellipse.majorM, 1)}" minor="${round(ellipse.minorM, 1)}" angle="${round(ellipse.direction, 1)}"/></shape>`;
  const remarks = `${Math.round(confidence * 100)} % sure, ${round(altitude, 1)} m above sea level, by video`;
  return write({
    ...{ uid: `windhover.${processUuid}.${id}`, type: typeOf(className, affiliation), how: HOW, timeMs, staleMs },
    point: { ...spot, ce: round(errorM, 1), le: UNKNOWN },
    detail: `<contact callsign="${callsign}"/>${track}${shape}<remarks>${remarks}</remarks>`,
  });
}

interface WrittenEvent extends EventTimes {
  readonly uid: string;
  readonly type: string;
  readonly how: string;
  /** Altitude above mean sea level; errors as texts. */
  readonly point: Pick<CameraPosition, "latitude" | "longitude" | "altitude"> & {
    readonly ce: string;
    readonly le: string;
  };
  /** XML. */
  readonly detail: string;
}

function write({ uid, type, how, timeMs, staleMs, point, detail }: WrittenEvent): string {
  const { latitude, longitude, altitude, ce, le } = point;
  const time = formatTime(timeMs);
  const hae = altitude + geoidHeightM(latitude, longitude);
  return [
    `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`,
    `<event version="2.0" uid="${escapeXml(uid)}" type="${type}" how="${how}"`,
    ` time="${time}" start="${time}" stale="${formatTime(staleMs)}">`,
    `<point lat="${round(latitude, 7)}" lon="${round(longitude, 7)}" hae="${round(hae, 1)}" ce="${ce}" le="${le}"/>`,
    `<detail>${detail}</detail></event>`,
  ].join("");
}

/** The camera at the time of a frame. */
export interface CameraSighting {
  readonly processUuid: string;
  readonly callsign: string;
  readonly position: CameraPosition;
  readonly attitude: CameraAttitude;
  /** Degrees. */
  readonly hfov: number;
  readonly vfov: number;
  /** Over the ground: degrees from true north, metres per second; null: unknown. */
  readonly motion: { readonly course: number; readonly speedMps: number } | null;
  /** Where it looks; null: not at the ground. */
  readonly centre: PictureCentre | null;
  /** Address of its video, for the TAK client; null: none. */
  readonly videoUrl: string | null;
}

/** A drone; machine-generated, by GPS. */
const CAMERA_TYPE = "a-f-A-M-H-Q";
const CAMERA_HOW = "m-g";
const INTEREST_TYPE = "b-m-p-s-p-i";
/** Errors of the camera's position that telemetry does not report: those that `geolocate` assumes by default. */
const CAMERA_CE = "1.5";
const CAMERA_LE = "2.0";
/** Drawn range of a view that does not meet the ground, in metres. */
const OPEN_RANGE_M = 1000;

const cameraUid = (processUuid: string): string => `windhover.${processUuid}.camera`;

/** The position of the camera, its field of view and its video. */
export function writeCamera(camera: CameraSighting, times: EventTimes): string {
  const { processUuid, position, attitude, hfov, vfov, motion, centre, videoUrl } = camera;
  const track =
    motion === null ? "" : `<track course="${round(motion.course, 1)}" speed="${round(motion.speedMps, 2)}"/>`;
  const sensor = [
    `<sensor azimuth="${round(turn(attitude.yaw), 1)}" elevation="${round(attitude.pitch, 1)}"`,
    ` roll="${round(attitude.roll, 1)}" fov="${round(hfov, 1)}" vfov="${round(vfov, 1)}"`,
    ` range="${round(centre?.distance ?? OPEN_RANGE_M, 0)}" north="0" version="0.6" type="r-e" model="video"/>`,
  ].join("");
  return write({
    ...{ uid: cameraUid(processUuid), type: CAMERA_TYPE, how: CAMERA_HOW, ...times },
    point: { ...position, ce: CAMERA_CE, le: CAMERA_LE },
    detail: `${contactOf(camera)}${track}${sensor}${videoUrl === null ? "" : linkVideo(camera, videoUrl)}`,
  });
}

/** Where the camera looks; null: not at the ground. */
export function writeInterest(camera: CameraSighting, times: EventTimes): string | null {
  const { processUuid, centre } = camera;
  if (centre === null) return null;
  const uid = escapeXml(cameraUid(processUuid));
  const link = `<link uid="${uid}" type="${CAMERA_TYPE}" relation="p-p" production_time="${formatTime(times.timeMs)}"/>`;
  return write({
    ...{ uid: `windhover.${processUuid}.interest`, type: INTEREST_TYPE, how: CAMERA_HOW, ...times },
    point: { ...centre, ce: round(centre.errorM, 1), le: UNKNOWN },
    detail: `${contactOf({ callsign: `${camera.callsign} SPI` })}${link}`,
  });
}

const contactOf = ({ callsign }: Pick<CameraSighting, "callsign">): string =>
  `<contact callsign="${escapeXml(callsign.slice(0, MAX_NAME_LETTERS + 4))}"/>`;

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  "rtsp:": 554,
  "rtsps:": 322,
  "rtmp:": 1935,
  "srt:": 8890,
  "http:": 80,
  "https:": 443,
};

/** Opens in the TAK client. */
function linkVideo({ processUuid, callsign }: CameraSighting, videoUrl: string): string {
  const url = new URL(videoUrl);
  const uid = escapeXml(`windhover.${processUuid}.video`);
  const port = url.port === "" ? (DEFAULT_PORTS[url.protocol] ?? 0) : Number(url.port);
  const path = escapeXml(`${url.pathname}${url.search}`);
  return [
    `<__video uid="${uid}" url="${escapeXml(videoUrl)}"><ConnectionEntry uid="${uid}" alias="${escapeXml(callsign)}"`,
    ` protocol="${url.protocol.replace(":", "")}" address="${escapeXml(url.hostname)}" port="${port}" path="${path}"`,
    ` roverPort="-1" rtspReliable="1" ignoreEmbeddedKLV="false" networkTimeout="12000" bufferTime="-1"/></__video>`,
  ].join("");
}

/** From 0 to below 360. */
const turn = (degrees: number): number => (Math.round((((degrees % 360) + 360) % 360) * 10) / 10) % 360;

const formatTime = (unixMs: number): string => new Date(unixMs).toISOString();

/** Never with an exponent, which XML decimals do not allow. */
const round = (value: number, digits: number): string => value.toFixed(digits);

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Removes characters that XML does not allow, even escaped. */
const escapeXml = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are to be removed.
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\ufffe\uffff]/g, "")
    .replaceAll(/[&<>"']/g, (letter) => ESCAPES[letter] ?? "");

export type Affiliation = "u" | "n" | "f" | "h";

type Row = readonly [names: string, symbol: string];

/** Battle dimension first: G ground, S sea surface; E-V is equipment, vehicle. Airborne objects are not geolocated. */
const SYMBOLS: readonly Row[] = [
  [
    "car, vehicle, small vehicle, large vehicle, suv, pickup, taxi, van, bus, truck, lorry, trailer, tank, armored vehicle, armoured vehicle, tractor, excavator, train, tram, bicycle, bike, motorcycle, motor, motorbike, scooter, tricycle, awning tricycle",
    "G-E-V",
  ],
  ["boat, ship, vessel, kayak, canoe, jet ski", "S"],
];

/** Persons, animals and all other objects. */
const ON_THE_GROUND = "G";

const BY_NAME: ReadonlyMap<string, string> = new Map(
  SYMBOLS.flatMap(([names, symbol]) => names.split(", ").map((name) => [name, symbol] as const)),
);

/** Treats `Small-vehicle` and `small_vehicle` as equal, like `geolocate`. */
const plain = (className: string): string =>
  className
    .trim()
    .toLowerCase()
    .replaceAll(/[-_\s]+/g, " ");

/** The event type, which selects the symbol on the map. */
export const typeOf = (className: string, affiliation: Affiliation): string =>
  `a-${affiliation}-${BY_NAME.get(plain(className)) ?? ON_THE_GROUND}`;
