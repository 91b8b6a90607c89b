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
  serve: {
    about: "Start the service: API, database, supervised processes.",
    load: async () => (await import("./commands/serve.ts")).default,
  },
  config: {
    about: "Show the configuration of the service, and where each value comes from.",
    load: async () => (await import("./commands/config.ts")).default,
  },
  run: {
    about: "Run a graph on a source.",
    load: async () => (await import("./commands/run.ts")).default,
  },
  launch: {
    about: "Run a graph written as one line, gst-launch style.",
    load: async () => (await import("./commands/launch.ts")).default,
  },
  replay: {
    about: "Show what alerts and webhooks would have sent on a recording.",
    load: async () => (await import("./commands/replay.ts")).default,
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
        load: async () => (await import("./commands/eval.ts")).mot,
      },
      clip: {
        about: "Run the graph detect on a clip and score what it finds.",
        load: async () => (await import("./commands/eval.ts")).clip,
      },
      coco: {
        about: "Look for objects in pictures and score what is found, as COCO does.",
        load: async () => (await import("./commands/eval.ts")).coco,
      },
      enhance: {
        about: "Say what the enhancement of a report would of objects in pictures and clips.",
        load: async () => (await import("./commands/eval.ts")).enhance,
      },
    },
  },
  models: {
    about: "List, show, fetch, import and remove the models that detect objects.",
    commands: {
      list: {
        about: "List the models: those that come with Windhover and your own.",
        load: async () => (await import("./commands/models.ts")).modelsList,
      },
      show: {
        about: "Say everything about a model, and show its card.",
        load: async () => (await import("./commands/models.ts")).modelsShow,
      },
      get: {
        about: "Fetch weights, check their digest and convert them.",
        load: async () => (await import("./commands/models.ts")).modelsGet,
      },
      import: {
        about: "Make a model of your own one that can be asked for by name.",
        load: async () => (await import("./commands/models.ts")).modelsImport,
      },
      remove: {
        about: "Remove a model that you imported; one of Windhover's name comes back.",
        load: async () => (await import("./commands/models.ts")).modelsRemove,
      },
    },
  },
  keys: {
    about: "Make, list and revoke API keys, and hand out their minutes.",
    commands: {
      create: {
        about: "Make an API key, and with it a user of that name.",
        load: async () => (await import("./commands/keys.ts")).keysCreate,
      },
      list: {
        about: "List the API keys: masters, each followed by its children.",
        load: async () => (await import("./commands/keys.ts")).keysList,
      },
      revoke: {
        about: "Revoke API keys, for good.",
        load: async () => (await import("./commands/keys.ts")).keysRevoke,
      },
      allocate: {
        about: "Hand pending minutes of a master key to itself or a child.",
        load: async () => (await import("./commands/keys.ts")).keysAllocate,
      },
    },
  },
  golden: {
    about: "Keep what a graph says of a clip, and find out when that changes.",
    commands: {
      record: {
        about: "Run a graph on a clip and keep every message it sends.",
        load: async () => (await import("./commands/golden.ts")).goldenRecord,
      },
      check: {
        about: "Run it again and say what is different.",
        load: async () => (await import("./commands/golden.ts")).goldenCheck,
      },
    },
  },
  bench: {
    about: "Measure.",
    load: async () => (await import("./commands/bench.ts")).default,
  },
};
