/** The pixel kernels compared with GStreamer's and OpenCV's: compiles `peers/` with the addon's object files and runs it. */
import { mkdirSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CommandFailure } from "../../../cli/command.ts";
import { run } from "../harness.ts";

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const SOURCES = path("peers/");
const HEADERS = path("../../../native/src/");
const OBJECTS = path("../../../build/obj/");
const FOLDER = path("../../../build/bench/");
const KERNELS = /^(draw|glyphs|hide|kernels|kernels_\w+|paint|resample|tensor|yuv_planes)\.cc-[0-9a-f]+\.o$/;
const LIBRARIES = ["gstreamer-video-1.0", "pangocairo"];
const OPENCV_LIBRARIES = ["core", "imgproc", "video", "calib3d"].map((name) => `-lopencv_${name}`);
/** Calls per contestant; the result is the median. */
const TURNS = 200;

export const OPENCV_MISSING =
  "OpenCV is not installed and is skipped: apt-get install --no-install-recommends libopencv-dev";

export interface Comparison {
  readonly name: string;
  /** Milliseconds of processor time by contestant: `ours` and its peers. */
  readonly ms: Readonly<Record<string, number>>;
}

export interface Peers {
  readonly hasOpencv: boolean;
  readonly compare: () => Promise<readonly Comparison[]>;
}

export async function buildPeers(): Promise<Peers> {
  mkdirSync(FOLDER, { recursive: true });
  const program = `${FOLDER}peers`;
  const opencv = await readFlags(["--cflags", "opencv4"]);
  const sources = readdirSync(SOURCES).filter((name) => name.endsWith(".cc"));
  const objects = readdirSync(OBJECTS).filter((name) => KERNELS.test(name));
  const flags = (await readFlags(["--cflags", "--libs", ...LIBRARIES])) ?? [];
  const withOpencv = opencv === null ? [] : ["-DWITH_OPENCV", ...opencv, ...OPENCV_LIBRARIES];
  await run("g++", [
    ...["-std=c++17", "-O2", `-I${HEADERS}`, "-o", program],
    ...sources.map((name) => SOURCES + name),
    ...objects.map((name) => OBJECTS + name),
    ...flags,
    ...withOpencv,
  ]);
  const compare = async () => JSON.parse(await run(program, [String(TURNS)])) as readonly Comparison[];
  return { hasOpencv: opencv !== null, compare };
}

/** Null if pkg-config does not know one of them. */
async function readFlags(words: readonly string[]): Promise<readonly string[] | null> {
  try {
    return (await run("pkg-config", words)).split(/\s+/).filter(Boolean);
  } catch (error) {
    if (error instanceof CommandFailure) return null;
    throw error;
  }
}
