/** From a track and its picture to what the report says of it. What the picture does not show is null, never guessed. */
import type { EnhancedData, Plate, TrackToEnhance } from "../schemas/enhancement.ts";
import { describeFlying } from "./aerial.ts";
import { findColour, LOWER_BODY, THING, UPPER_BODY, VEHICLE } from "./colour/find-colour.ts";
import { type Described, describeClass } from "./kinds.ts";
import { decodePicture, type Picture } from "./picture.ts";

/** What looks at pictures with a network. Each may be missing. */
export interface Readers {
  /** Null: none that can be read. */
  readPlate?(picture: Picture): Promise<Plate | null>;
  /** Surer of the type of a vehicle than its class is; null where it is not. */
  classifyVehicle?(picture: Picture): Promise<string | null>;
}

/** Of one that stands, with a margin around. */
const STANDING = 0.8;
/** Thin things: what is seen through them is most of the picture. */
const SEEN_THROUGH = new Set(["bicycle"]);

export async function enhanceTrack({ className, jpeg }: TrackToEnhance, readers: Readers): Promise<EnhancedData> {
  const described = describeClass(className);
  const picture = jpeg === null ? null : decodePicture(Buffer.from(jpeg, "base64"));
  const blank: EnhancedData = { vehicle_type: described.vehicleType, colour: null, plate: null, attributes: {} };
  return picture === null ? blank : { ...blank, ...(await look(picture, described, readers)) };
}

async function look(picture: Picture, described: Described, readers: Readers): Promise<Partial<EnhancedData>> {
  const { kind, vehicleType, mayHavePlate } = described;
  if (kind === "person") return { attributes: describePerson(picture) };
  if (kind === "flying") return describeAircraft(picture, vehicleType, readers);
  if (kind === "other") return { colour: findColour(picture, THING) };
  return {
    vehicle_type: (mayHavePlate ? await readers.classifyVehicle?.(picture) : null) ?? vehicleType,
    colour: SEEN_THROUGH.has(vehicleType ?? "") ? null : findColour(picture, VEHICLE),
    plate: mayHavePlate ? ((await readers.readPlate?.(picture)) ?? null) : null,
  };
}

/** What is painted on aircraft in place of a plate is read as plates are. */
async function describeAircraft(
  picture: Picture,
  vehicleType: string | null,
  readers: Readers,
): Promise<Partial<EnhancedData>> {
  const registration = (vehicleType === null ? null : await readers.readPlate?.(picture)) ?? null;
  const attributes = { ...describeFlying(picture), ...(registration !== null && { registration }) };
  return { colour: findColour(picture, THING), attributes };
}

function describePerson(picture: Picture): EnhancedData["attributes"] {
  const isStanding = picture.width / picture.height < STANDING;
  return {
    upper_colour: isStanding ? findColour(picture, UPPER_BODY) : null,
    lower_colour: isStanding ? findColour(picture, LOWER_BODY) : null,
  };
}
