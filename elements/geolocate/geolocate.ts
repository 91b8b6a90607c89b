/**
 * Turns boxes into places. With the fields of view alone an object gets angles from the line of sight and a distance by its
 * usual size; with the camera's place and attitude too, the spot where the ray through the foot of its box meets the
 * ground, and an honest error of it. Without telemetry it writes nothing.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "geolocate",
  about: "Tells where on earth every object is, from where the camera was and how it looked.",
  example: `
graph: geolocate-example
about: Every object of a clip and its place, one line a frame; run it with --telemetry FILE.
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
      description: "Metres from the camera beyond which the ground is too far to say where on it an object is.",
    }),
    geoidSeparationM: Type.Number({
      default: 0,
      minimum: -150,
      maximum: 150,
      live: true,
      description:
        "Mean sea level above the WGS-84 ellipsoid around here, in metres. It lifts camera and ground alike: leaving it at 0 moves a place by at most 2 cm a kilometre.",
    }),
    attitudeErrorDeg: Type.Number({
      default: 0.5,
      minimum: 0,
      maximum: 45,
      live: true,
      description:
        "How well the camera's attitude is known, about each of its axes. All errors are one standard deviation.",
    }),
    headingErrorDeg: Type.Number({
      default: 1,
      minimum: 0,
      maximum: 90,
      live: true,
      description: "How well true north is known beyond that: a compass is worse than a level.",
    }),
    lensError: Type.Number({
      default: 0.01,
      minimum: 0,
      maximum: 1,
      live: true,
      description: "How well the fields of view are known, as a fraction of them.",
    }),
    positionErrorM: Type.Number({
      default: 1.5,
      minimum: 0,
      maximum: 10_000,
      live: true,
      description: "How well the camera's place is known, in metres across the ground.",
    }),
    heightErrorM: Type.Number({
      default: 2,
      minimum: 0,
      maximum: 10_000,
      live: true,
      description: "How well the camera's height above the ground is known, in metres, with how uneven the ground is.",
    }),
    footError: Type.Number({
      default: 0.02,
      minimum: 0,
      maximum: 1,
      live: true,
      description:
        "How well the foot of an object is found, as a fraction of the height and width of its box. Half of the usual length of its class comes on top: the foot is where it is nearest, not its middle.",
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
