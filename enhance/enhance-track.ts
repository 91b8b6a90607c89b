/** Derives the attributes of a track from its class and its image. An attribute that the image does not show is null. */
import type { EnhancedData, Plate, TrackToEnhance } from "../schemas/enhancement.ts";
import { findColour, LOWER_BODY, OBJECT, UPPER_BODY, VEHICLE } from "./colour/find-colour.ts";
import { chromaOf, cluster, type Lab, readLab } from "./colour/lab.ts";
import { decodePicture, type Picture, shrink } from "./picture.ts";

/** The networks, which are optional. */
export interface Readers {
  /** Null if no plate can be read. */
  readPlate?(picture: Picture): Promise<Plate | null>;
}

/** Largest width by height of a standing person, with a margin. */
const STANDING = 0.8;
/** Thin objects: most of their image is background. */
const SEEN_THROUGH = new Set(["bicycle"]);

export async function enhanceTrack({ className, jpeg }: TrackToEnhance, readers: Readers): Promise<EnhancedData> {
  const described = describeClass(className);
  const picture = jpeg === null ? null : decodePicture(Buffer.from(jpeg, "base64"));
  const blank: EnhancedData = { vehicle_type: described.vehicleType, colour: null, plate: null, attributes: {} };
  return picture === null ? blank : { ...blank, ...(await analyse(picture, described, readers)) };
}

async function analyse(picture: Picture, described: Described, readers: Readers): Promise<Partial<EnhancedData>> {
  const { kind, vehicleType, mayHavePlate } = described;
  if (kind === "person") return { attributes: describePerson(picture) };
  if (kind === "flying") return describeAircraft(picture, vehicleType, readers);
  if (kind === "other") return { colour: findColour(picture, OBJECT) };
  return {
    colour: SEEN_THROUGH.has(vehicleType ?? "") ? null : findColour(picture, VEHICLE),
    plate: mayHavePlate ? ((await readers.readPlate?.(picture)) ?? null) : null,
  };
}

/** An aircraft's registration is read like a plate. */
async function describeAircraft(
  picture: Picture,
  vehicleType: string | null,
  readers: Readers,
): Promise<Partial<EnhancedData>> {
  const registration = (vehicleType === null ? null : await readers.readPlate?.(picture)) ?? null;
  const attributes = { ...describeFlying(picture), ...(registration !== null && { registration }) };
  return { colour: findColour(picture, OBJECT), attributes };
}

function describePerson(picture: Picture): EnhancedData["attributes"] {
  const isStanding = picture.width / picture.height < STANDING;
  return {
    upper_colour: isStanding ? findColour(picture, UPPER_BODY) : null,
    lower_colour: isStanding ? findColour(picture, LOWER_BODY) : null,
  };
}

/** The vehicle type by class name; models use different names. */
const VEHICLE_TYPES: Readonly<Record<string, string>> = {
  car: "car",
  van: "van",
  bus: "bus",
  truck: "truck",
  lorry: "truck",
  motor: "motorcycle",
  motorcycle: "motorcycle",
  motorbike: "motorcycle",
  scooter: "motorcycle",
  bicycle: "bicycle",
  bike: "bicycle",
  tricycle: "tricycle",
  "awning tricycle": "tricycle",
  train: "train",
  tram: "tram",
  boat: "boat",
  ship: "ship",
  tractor: "tractor",
  forklift: "forklift",
  airplane: "aeroplane",
  aeroplane: "aeroplane",
  plane: "aeroplane",
  helicopter: "helicopter",
  drone: "drone",
  uav: "drone",
};
const FLYING = new Set(["aeroplane", "helicopter", "drone", "bird", "kite", "balloon"]);
const PEOPLE = new Set(["person", "pedestrian", "people", "rider"]);

/** Vehicle types with number plates. */
const PLATED = new Set(["car", "van", "bus", "truck", "motorcycle"]);

interface Described {
  readonly kind: "vehicle" | "person" | "flying" | "other";
  /** Null for other objects. */
  readonly vehicleType: string | null;
  readonly mayHavePlate: boolean;
}

/**
 * By the name of the class alone: the shape of a box is misleading. Seen from above a car is as tall as a van, and a bus
 * behind a lamp post looks like a car.
 */
function describeClass(className: string): Described {
  const name = className
    .toLowerCase()
    .replaceAll(/[-_\s]+/g, " ")
    .trim();
  const vehicleType = Object.hasOwn(VEHICLE_TYPES, name) ? (VEHICLE_TYPES[name] ?? null) : null;
  const isFlying = FLYING.has(vehicleType ?? name);
  const kind = isFlying ? "flying" : vehicleType !== null ? "vehicle" : PEOPLE.has(name) ? "person" : "other";
  return { kind, vehicleType, mayHavePlate: vehicleType !== null && PLATED.has(vehicleType) };
}

const LONGEST_SIDE = 48;
/** Width of the border, as a share of the shorter side. */
const EDGE = 0.08;
/** The sky has few colours of similar lightness. */
const SKY_COLOURS = 3;
const EVEN = 14;
const LONG = 1.8;

/** Attributes of any flying object. The shape is that of the image: a long aircraft seen from the front is compact. */
function describeFlying(picture: Picture): EnhancedData["attributes"] {
  const small = shrink(picture, LONGEST_SIDE);
  const { width, height } = small;
  const lab = readLab(small);
  const edge = Math.max(1, Math.round(Math.min(width, height) * EDGE));
  const isEdge = (x: number, y: number) => x < edge || y < edge || x >= width - edge || y >= height - edge;
  const around = select(lab, width, isEdge);
  const middle = select(lab, width, (x, y) => Math.hypot(x / width - 0.5, y / height - 0.5) < 0.2);
  const behind = meanLightness(around);
  const difference = meanLightness(middle) - behind;
  const aspect = picture.width / picture.height;
  return {
    against_sky: isSky(around),
    apparent_shape: aspect > LONG ? "wide" : aspect < 1 / LONG ? "tall" : "compact",
    contrast: Math.abs(difference) < EVEN / 2 ? "like" : difference < 0 ? "darker" : "lighter",
  };
}

/** Even, and blue, grey or white. A wall is too, but flying objects are rarely in front of walls. */
function isSky(lab: Float32Array): boolean {
  const { centres, of } = cluster(lab, SKY_COLOURS);
  const counts = centres.map((_, k) => of.reduce((sum, one) => sum + Number(one === k), 0));
  const large = centres.filter((_, k) => (counts[k] as number) > of.length * 0.1);
  const lights = large.map(([lightness]) => lightness);
  return Math.max(...lights) - Math.min(...lights) < EVEN * 2 && large.every(isSkyColour);
}

const isSkyColour = (lab: Lab): boolean => lab[0] > 30 && (chromaOf(lab) < 12 || (lab[2] < 0 && lab[1] < 12));

function select(lab: Float32Array, width: number, fits: (x: number, y: number) => boolean): Float32Array {
  const chosen: number[] = [];
  for (let i = 0; i < lab.length / 3; i++)
    if (fits(i % width, Math.floor(i / width)))
      chosen.push(lab[i * 3] as number, lab[i * 3 + 1] as number, lab[i * 3 + 2] as number);
  return Float32Array.from(chosen);
}

function meanLightness(lab: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < lab.length; i += 3) sum += lab[i] as number;
  return lab.length === 0 ? 0 : sum / (lab.length / 3);
}
