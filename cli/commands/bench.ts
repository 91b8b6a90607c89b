import { existsSync } from "node:fs";
import { didYouMean } from "../../schemas/suggest.ts";
import { type Command, CommandFailure, EXIT, UsageFault } from "../command.ts";
import type { Terminal } from "../terminal.ts";

const FOLDER = new URL("../../tools/bench/", import.meta.url);

/** The files of tools/bench/, with their arguments and what they measure. */
export const BENCHES: Readonly<Record<string, readonly [usage: string, about: string]>> = {
  api: ["[ROUNDS]", "requests/s of GET /sources, compared with bare Hono"],
  authoring: [
    "[ROUNDS]",
    "logic in a graph, saving an element and compiling graphs, compared with doing it another way",
  ],
  clips: ["[ROUNDS]", "a clip out of an hour of recording, compared with a file server"],
  cluster: ["[ROUNDS]", "requests that another node answers, and the load of nodes on the database"],
  density: [
    "[ROUNDS] [CLIP]",
    "live streams that this machine carries, compared with the bound and with plain scripts",
  ],
  detect: ["[ROUNDS] [CLIP]", "inference, live latency and pixel kernels, compared with their limits"],
  engine: ["[ROUNDS]", "a graph with one TypeScript element, compared with gst-launch-1.0"],
  glass: ["[ROUNDS]", "glass-to-glass latency: RTSP, WebRTC, LL-HLS and processed video"],
  listing: ["[ROUNDS]", "pages of every listing with 10,000 processes and 100,000 notices, compared with their limit"],
  media: ["[ROUNDS]", "the media hub as a relay, compared with nginx-rtmp"],
  report: ["[ROUNDS]", "the track report of a process with 100,000 tracks"],
  review: ["[ROUNDS] [CLIP]", "a day of one stream: size of stored detections, time to draw its time line"],
  start: ["[ROUNDS]", "time from POST /start to the first detection message"],
  tracker: ["DIR…", "the tracker on MOT sequences it was not tuned on, compared with published trackers"],
};

/** Default export of `tools/bench/NAME.ts`: measures, prints a table, resolves with the exit code if it is not 0. */
export type Bench = (args: readonly string[], terminal: Terminal) => Promise<number | undefined> | Promise<void>;

export default {
  name: "bench",
  about: "Run a benchmark and print its results as a table.",
  usage: "NAME [argument…]",
  options: {},
  notes: [
    "Benchmarks:",
    ...Object.entries(BENCHES).map(([name, [usage, about]]) => `- ${name} ${usage}: ${about}`),
    "`tracker` reads the sequences of every DIR, as `eval mot` does, or of the folders in WINDHOVER_MOT; each result of the others is the median of ROUNDS rounds. A benchmark with limits exits with code 1 when one is exceeded. Run benchmarks on an otherwise idle machine.",
  ].join("\n"),
  verbatim: true,
  examples: ["bench engine", "bench detect 5", "bench detect 3 street.mp4"],
  async run(given, terminal) {
    const [name, ...rest] = given.positionals;
    const names = Object.keys(BENCHES);
    if (name === undefined || !names.includes(name)) {
      const problem = name === undefined ? "missing: the NAME of a benchmark" : `there is no benchmark "${name}"`;
      throw new UsageFault(`${problem}; expected one of ${names.join(", ")}${didYouMean(name ?? "", names)}`);
    }
    const { default: bench }: { default: Bench } = await loadTool(
      "bench",
      () => import(new URL(`${name}.ts`, FOLDER).href),
    );
    return (await bench(rest, terminal)) ?? EXIT.ok;
  },
} satisfies Command;

const TOOLS = new URL("../../tools/", import.meta.url);

/** Loads a program of tools/. Throws `CommandFailure` in an installation without it, such as a release image. */
export async function loadTool<T>(command: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (existsSync(TOOLS)) throw cause;
    throw new CommandFailure(
      `\`windhover ${command}\` is not part of this installation: it has no folder tools/. Run the command in a checkout of the sources.`,
      { cause },
    );
  }
}
