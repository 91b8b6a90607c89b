/** The package `@windhover/element`: all that an element outside of this repository imports. */
export { type Static, Type } from "typebox";
export type { Box, Detections, Tracks } from "../schemas/detections.ts";
export type { Json, JsonRecord } from "../schemas/json.ts";
export type * from "./element.ts";
export { defineElement, ExpandFault } from "./element.ts";
