/** All commands in the order of the help. Each is loaded when it is asked for: a list of them starts nothing. */
import type { Command } from "./command.ts";

interface Leaf {
  readonly about: string;
  load(): Promise<Command>;
}

/** A family of commands: `models list`, `models get`. */
export interface Family {
  readonly about: string;
  readonly commands: Readonly<Record<string, Leaf>>;
}

export type Entry = Leaf | Family;

export const COMMANDS: Readonly<Record<string, Entry>> = {
  run: {
    about: "Run a graph on a source.",
    load: async () => (await import("./commands/run.ts")).default,
  },
  launch: {
    about: "Run a graph written as one line, gst-launch style.",
    load: async () => (await import("./commands/launch.ts")).default,
  },
  check: {
    about: "Check graph files; silent when all is well.",
    load: async () => (await import("./commands/check.ts")).default,
  },
  explain: {
    about: "Show what a graph becomes, and the gst-launch line for it.",
    load: async () => (await import("./commands/explain.ts")).default,
  },
  inspect: {
    about: "List the elements, or describe one of them.",
    load: async () => (await import("./commands/inspect.ts")).default,
  },
  dot: {
    about: "Draw a graph: DOT, or SVG.",
    load: async () => (await import("./commands/dot.ts")).default,
  },
  demo: {
    about: "Run the first graph on a clip made for it.",
    load: async () => (await import("./commands/demo.ts")).default,
  },
  eval: {
    about: "Score detection and tracking against ground truth.",
    commands: {
      mot: {
        about: "Track the detections of MOT sequences, or score what others tracked.",
        load: async () => (await import("./commands/eval-mot.ts")).default,
      },
      clip: {
        about: "Run the graph detect on a clip and score what it finds.",
        load: async () => (await import("./commands/eval-clip.ts")).default,
      },
    },
  },
  bench: {
    about: "Measure.",
    load: async () => (await import("./commands/bench.ts")).default,
  },
};
