/** The package `@windhover/element`: all that an element outside of this repository imports. */
export { type Static, Type } from "typebox";
export type { Box, Detection, Detections, Track, Tracks } from "../schemas/detections.ts";
export type { Json, JsonRecord } from "../schemas/json.ts";
export type { Place, Places } from "../schemas/places.ts";
export type * from "./element.ts";
export { defineElement, ExpandFault } from "./element.ts";
