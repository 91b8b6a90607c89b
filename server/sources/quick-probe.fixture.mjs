/**
 * Examines a video as the real probe does, except for films that their test has marked as known: to load GStreamer
 * takes most of the processor time of an upload.
 */
import { readFileSync } from "node:fs";
import { FACTS, MARK } from "./small-film.fixture.mjs";

const [, , file = ""] = process.argv;
if (readFileSync(file).includes(MARK)) process.stdout.write(`${JSON.stringify({ video: FACTS, fault: null })}\n`);
else await import("../../graphs/runtime/probe/probe.mjs");
