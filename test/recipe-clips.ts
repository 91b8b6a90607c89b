/**
 * Writes the clips that the tests of recipes name into the cache, where `windhover test` finds them.
 *
 *   node --import tsx test/recipe-clips.ts
 */
import { dirname } from "node:path";
import { CLIPS, clipFile, fetchClip } from "../clips/clips.ts";
import { writeClips } from "./recipes.fixture.ts";

const vtest = clipFile("vtest.avi");
await fetchClip(vtest, CLIPS["vtest.avi"]);
await writeClips(dirname(vtest));
