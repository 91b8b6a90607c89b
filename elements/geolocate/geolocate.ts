/**
 * Geolocates objects. With the fields of view alone an object gets angles from the line of sight and a distance estimated
 * by its usual size; with the camera's position and attitude also the position where the ray through the foot of its box
 * meets the ground, with its error. The ground is the terrain of `terrain.folder` where that has data, and level
 * elsewhere. Without telemetry it writes nothing.
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
    geoidSeparationM: Type.Union([Type.Literal("auto"), Type.Number({ minimum: -150, maximum: 150 })], {
      default: "auto",
      live: true,
      description:
        "Height of mean sea level above the WGS-84 ellipsoid at the camera, in metres; auto takes it from EGM96. Set it if the altitude of the telemetry has another reference: 0 for one above the ellipsoid.",
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
      description:
        "Error of the camera's height in metres: of its altitude where the terrain is known, else of its height above the ground, including uneven ground.",
    }),
    terrainErrorM: Type.Number({
      default: 3,
      minimum: 0,
      maximum: 1000,
      live: true,
      description: "Error of the heights of the terrain in metres, in addition, where the terrain is known.",
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
  wholeFrame: true,
  caps: "ANY",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { GeolocateHandler, openTerrain } = await import("./handler.ts");
    return new GeolocateHandler(properties, services, openTerrain(services));
  },
});
