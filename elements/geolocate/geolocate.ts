/**
 * Geolocates objects. With the fields of view alone an object gets angles from the line of sight and a distance estimated
 * by its usual size; with the camera's position and attitude also the position where the ray through the foot of its box
 * meets the ground, with its error. Without telemetry it writes nothing.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "geolocate",
  about: "Geolocates every object from the position and attitude of the camera.",
  example: `
graph: geolocate-example
about: Geolocate every object of a clip and print one line per frame; run it with --telemetry FILE.
chains:
  main:
    - source
    - decode
    - detect
    - telemetry
    - track
    - geolocate: { max-distance-m: 5000 }
    - print: { keys: [tracks, places] }
`,
  properties: Type.Object({
    maxDistanceM: Type.Number({
      default: 20_000,
      minimum: 1,
      maximum: 500_000,
      live: true,
      description: "Maximum distance from the camera in metres; objects farther away get no position.",
    }),
    geoidSeparationM: Type.Number({
      default: 0,
      minimum: -150,
      maximum: 150,
      live: true,
      description:
        "Height of mean sea level above the WGS-84 ellipsoid, in metres. It raises camera and ground alike: leaving it at 0 moves a position by at most 2 cm per kilometre.",
    }),
    attitudeErrorDeg: Type.Number({
      default: 0.5,
      minimum: 0,
      maximum: 45,
      live: true,
      description:
        "Error of the camera's attitude about each of its axes, in degrees. All errors are one standard deviation.",
    }),
    headingErrorDeg: Type.Number({
      default: 1,
      minimum: 0,
      maximum: 90,
      live: true,
      description: "Additional error of the heading in degrees: a compass is less accurate than a level.",
    }),
    lensError: Type.Number({
      default: 0.01,
      minimum: 0,
      maximum: 1,
      live: true,
      description: "Error of the fields of view, as a fraction of them.",
    }),
    positionErrorM: Type.Number({
      default: 1.5,
      minimum: 0,
      maximum: 10_000,
      live: true,
      description: "Horizontal error of the camera's position in metres.",
    }),
    heightErrorM: Type.Number({
      default: 2,
      minimum: 0,
      maximum: 10_000,
      live: true,
      description: "Error of the camera's height above the ground in metres, including uneven ground.",
    }),
    footError: Type.Number({
      default: 0.02,
      minimum: 0,
      maximum: 1,
      live: true,
      description:
        "Error of the foot of an object, as a fraction of the height and width of its box. Half of the usual length of its class is added: the foot is the nearest point of the object, not its middle.",
    }),
  }),
  reads: [{ oneOf: ["tracks", "detections"] }, { optional: "telemetry" }],
  writes: ["places"],
  caps: "ANY",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { GeolocateHandler } = await import("./handler.ts");
    return new GeolocateHandler(properties, services);
  },
});
