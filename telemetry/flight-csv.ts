/**
 * Flight logs as CSV, one line per moment: the exports of AirData and similar programs, whose units are in the header
 * (`altitude(feet)`), or columns with the names of the native fields.
 */
import { type FileReading, type FormatParameters, readLines, TelemetryFault } from "./format.ts";
import { normaliseDegrees, toMilliseconds, toSample } from "./native.ts";

/** Factors to metres, metres per second, degrees and milliseconds. */
const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  m: 1,
  meter: 1,
  meters: 1,
  metres: 1,
  ft: 0.3048,
  feet: 0.3048,
  "m/s": 1,
  mps: 1,
  mph: 0.44704,
  "km/h": 1 / 3.6,
  kmh: 1 / 3.6,
  kph: 1 / 3.6,
  knots: 0.514444,
  degrees: 1,
  deg: 1,
  "°": 1,
  millisecond: 1,
  milliseconds: 1,
  ms: 1,
  second: 1000,
  seconds: 1000,
  s: 1000,
  utc: 1,
};

type Column =
  | "time"
  | "date"
  | "timestamp"
  | "latitude"
  | "longitude"
  | "above"
  | "altitude"
  | "ground"
  | "speed"
  | "heading"
  | "pitch"
  | "roll"
  | "gimbalYaw"
  | "gimbalPitch"
  | "gimbalRoll"
  | "hfov"
  | "vfov"
  | "isVideo";

/** Names of columns, in lower case without their unit; of several, the first. */
const NAMES: Readonly<Record<Column, readonly string[]>> = {
  time: ["time", "offsettime", "flytime"],
  date: ["datetime", "date_time", "customdate"],
  timestamp: ["timestamp", "unix_time"],
  latitude: ["latitude", "lat", "osd.latitude"],
  longitude: ["longitude", "lon", "lng", "osd.longitude"],
  above: ["height_above_takeoff", "rel_altitude", "height", "osd.height"],
  altitude: ["altitude_above_sealevel", "altitude", "osd.altitude"],
  ground: ["height_above_ground_at_drone_location"],
  speed: ["speed", "osd.hspeed"],
  heading: ["compass_heading", "drone_yaw", "heading", "osd.yaw"],
  pitch: ["pitch", "drone_pitch", "osd.pitch"],
  roll: ["roll", "drone_roll", "osd.roll"],
  gimbalYaw: ["gimbal_heading", "camera_yaw", "gimbal.yaw"],
  gimbalPitch: ["gimbal_pitch", "camera_pitch", "gimbal.pitch"],
  gimbalRoll: ["gimbal_roll", "camera_roll", "gimbal.roll"],
  hfov: ["sensor_hfov"],
  vfov: ["sensor_vfov"],
  isVideo: ["isvideo", "camera.isvideo"],
};

interface Header {
  /** Index and factor. */
  readonly columns: ReadonlyMap<Column, readonly [index: number, factor: number]>;
  readonly separator: string;
}

const MAX_COLUMNS = 1000;
/** Above it a number is in milliseconds since 1970. */
const UNIT = /\(([^()]{0,20})\)$/;
const DATE = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})[ T](\d{1,2}):(\d{2}):(\d{2})(\.\d{1,6})?Z?$/;

export function* readFlightCsv(bytes: Uint8Array, parameters: FormatParameters): Generator<FileReading | null> {
  let header: Header | null = null;
  let startMs: number | null = null;
  for (const { line, number } of readLines(bytes)) {
    if (line.trim() === "") continue;
    if (header === null) {
      header = readHeader(line);
      // Some programs write a line with the separator or with their name first.
      if (header === null && number > 5) throw noHeader();
      yield null;
      continue;
    }
    const cells = splitLine(line, header.separator);
    const read = makeReader(header, cells);
    const timeMs = readTime(read, cells, header, startMs);
    if (timeMs === null) {
      yield null;
      continue;
    }
    // All later rows count from the first date: dates have whole seconds only.
    if (startMs === null && read("time") !== undefined) startMs = timeMs - (read("time") ?? 0);
    yield toReading(read, timeMs, parameters);
  }
  if (header === null) throw noHeader();
}

const noHeader = (): TelemetryFault =>
  new TelemetryFault(
    "Expected a CSV file whose header has columns for time, latitude and longitude, such as time(millisecond), datetime(utc), latitude, longitude.",
  );

/** Null: this line is not the header. Throws for a unit that is not known. */
function readHeader(line: string): Header | null {
  const separator = [",", ";", "\t"].find((one) => line.includes(one)) ?? ",";
  const cells = splitLine(line, separator);
  const columns = new Map<Column, readonly [number, number]>();
  const names = cells.map((cell) => cell.trim().toLowerCase());
  for (const [column, known] of Object.entries(NAMES) as [Column, readonly string[]][]) {
    for (const name of known) {
      const index = names.findIndex((cell) => cell.replace(UNIT, "").trim() === name);
      if (index < 0) continue;
      const unit = UNIT.exec(names[index] ?? "")?.[1]?.trim() ?? "";
      const factor = UNITS[unit];
      if (factor === undefined)
        throw new TelemetryFault(
          `The column ${JSON.stringify(names[index]?.slice(0, 60))} has the unknown unit "${unit}"; expected one of ${Object.keys(UNITS).filter(Boolean).join(", ")}.`,
        );
      columns.set(column, [index, factor]);
      break;
    }
  }
  const hasTime = columns.has("time") || columns.has("date") || columns.has("timestamp");
  return hasTime && columns.has("latitude") && columns.has("longitude") ? { columns, separator } : null;
}

/** Quotes may enclose a cell; a doubled quote is one. */
export function splitLine(line: string, separator: string): readonly string[] {
  if (!line.includes('"')) return line.split(separator, MAX_COLUMNS);
  const cells: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < line.length && cells.length < MAX_COLUMNS; at++) {
    const letter = line[at] ?? "";
    if (letter === '"' && isQuoted && line[at + 1] === '"') {
      cell += letter;
      at++;
    } else if (letter === '"') isQuoted = !isQuoted;
    else if (letter === separator && !isQuoted) {
      cells.push(cell);
      cell = "";
    } else cell += letter;
  }
  return [...cells, cell];
}

type Read = (column: Column) => number | undefined;

const makeReader =
  ({ columns }: Header, cells: readonly string[]): Read =>
  (column) => {
    const [index, factor] = columns.get(column) ?? [];
    const text = index === undefined ? "" : (cells[index] ?? "").trim();
    if (text === "" || factor === undefined) return undefined;
    const value = Number(text);
    return Number.isFinite(value) ? value * factor : undefined;
  };

function readTime(read: Read, cells: readonly string[], { columns }: Header, startMs: number | null): number | null {
  const timestamp = read("timestamp");
  if (timestamp !== undefined) return timestamp >= 0 && timestamp <= 1e14 ? toMilliseconds(timestamp) : null;
  const time = read("time");
  if (time !== undefined && startMs !== null) return startMs + time;
  const date = DATE.exec((cells[columns.get("date")?.[0] ?? -1] ?? "").trim());
  if (date === null) return time ?? null;
  const [year, month, day, hour, minute, second, fraction] = date.slice(1).map((text) => Number(text ?? 0));
  const dateMs = Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second) + (fraction ?? 0) * 1000;
  return dateMs > 0 ? dateMs : null;
}

function toReading(read: Read, timeMs: number, parameters: FormatParameters): FileReading {
  const angle = (column: Column): number | undefined => {
    const value = read(column);
    return value === undefined || Math.abs(value) > 720 ? undefined : normaliseDegrees(value);
  };
  const within = (value: number | undefined, least: number, most: number): number | undefined =>
    value !== undefined && value >= least && value <= most ? value : undefined;
  const [latitude, longitude] = [within(read("latitude"), -90, 90), within(read("longitude"), -180, 180)];
  const isFix = latitude !== undefined && longitude !== undefined && (latitude !== 0 || longitude !== 0);
  const above = within(read("ground") ?? read("above"), -12_000, 100_000);
  const altitude = within(read("altitude"), -12_000, 100_000) ?? withTakeoff(read("above"), parameters);
  const [hfov, vfov] = [read("hfov") ?? parameters.sensor_hfov, read("vfov") ?? parameters.sensor_vfov];
  const isView = (value: unknown): value is number => typeof value === "number" && value > 0 && value < 180;
  const yaw = angle("gimbalYaw");
  const heading = angle("heading");
  const nose = parameters.gimbal_yaw_frame === "body" ? heading : 0;
  const fields = {
    latitude: isFix ? latitude : undefined,
    longitude: isFix ? longitude : undefined,
    altitude: altitude ?? above,
    rel_altitude: above,
    speed: within(read("speed"), -10_000, 10_000),
    sensor_hfov: isView(hfov) && isView(vfov) ? hfov : undefined,
    sensor_vfov: isView(hfov) && isView(vfov) ? vfov : undefined,
    camera_yaw: yaw === undefined || nose === undefined ? undefined : normaliseDegrees(yaw + nose),
    camera_pitch: angle("gimbalPitch"),
    // Gimbals keep the horizon level; some logs leave the roll out.
    camera_roll: angle("gimbalRoll") ?? (angle("gimbalPitch") === undefined ? undefined : 0),
    drone_yaw: heading,
    drone_pitch: angle("pitch"),
    drone_roll: angle("roll"),
  };
  const native = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const isVideo = read("isVideo");
  return {
    sample: toSample(native, timeMs, null),
    native: { timestamp: timeMs / 1000, ...native },
    lack: describeLack(native),
    ...(isVideo !== undefined && { isRecording: isVideo !== 0 }),
  };
}

const withTakeoff = (above: number | undefined, { takeoff_altitude_m: takeoff }: FormatParameters) =>
  above !== undefined && typeof takeoff === "number" ? takeoff + above : undefined;

function describeLack(native: Readonly<Record<string, unknown>>): string | null {
  const lacks: string[] = [];
  if (native.latitude === undefined) lacks.push("The last rows contain no position.");
  if (native.rel_altitude === undefined) lacks.push("The file has no column with the height above take-off or ground.");
  if (native.camera_yaw === undefined || native.camera_pitch === undefined)
    lacks.push("The file has no columns gimbal_heading and gimbal_pitch.");
  if (native.sensor_hfov === undefined)
    lacks.push("Flight logs contain no field of view: send sensor_hfov and sensor_vfov.");
  return lacks.length === 0 ? null : lacks.join(" ");
}
