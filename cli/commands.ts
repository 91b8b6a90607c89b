/** All commands in the order of the help. Each is loaded when it is used, so that the list itself loads nothing. */
import type { Command } from "./command.ts";

interface Leaf {
  readonly about: string;
  load(): Promise<Command>;
}

/** A group of commands: `models list`, `models get`. */
export interface Family {
  readonly about: string;
  /** Of `commands`: what the name of the family alone means; default: its help. */
  readonly usual?: string;
  readonly commands: Readonly<Record<string, Leaf>>;
}

export type Entry = Leaf | Family;

export const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: {
    about: "Start the service: API, database, media server, processes.",
    load: async () => (await import("./commands/serve.ts")).default,
  },
  config: {
    about: "Show the service configuration, and where each value comes from.",
    load: async () => (await import("./commands/config.ts")).default,
  },
  init: {
    about: "Create a workspace: a folder for graphs, elements and models of your own.",
    load: async () => (await import("./commands/init.ts")).default,
  },
  run: {
    about: "Run a graph on a source.",
    load: async () => (await import("./commands/run.ts")).run,
  },
  launch: {
    about: "Run a graph written as one line, gst-launch style.",
    load: async () => (await import("./commands/run.ts")).launch,
  },
  replay: {
    about: "Show what alerts and webhooks would have sent for a recording.",
    load: async () => (await import("./commands/replay.ts")).default,
  },
  detections: {
    about: "Print stored detections of a process.",
    load: async () => (await import("./commands/detections.ts")).default,
  },
  check: {
    about: "Check graph files; prints nothing when they are valid.",
    load: async () => (await import("./commands/show-graph.ts")).check,
  },
  explain: {
    about: "Show the compiled plan of a graph, and its gst-launch line.",
    load: async () => (await import("./commands/show-graph.ts")).explainCommand,
  },
  inspect: {
    about: "List the elements, or describe one of them.",
    load: async () => (await import("./commands/inspect.ts")).default,
  },
  dot: {
    about: "Draw a graph as DOT or SVG.",
    load: async () => (await import("./commands/show-graph.ts")).dot,
  },
  mcp: {
    about: "Serve graphs and a running service as tools for language models.",
    load: async () => (await import("./commands/mcp.ts")).default,
  },
  demo: {
    about: "Run a first graph on a generated clip.",
    load: async () => (await import("./commands/demo.ts")).default,
  },
  compare: {
    about: "Run two graphs on a clip and compare their speed and the objects they find.",
    load: async () => (await import("./commands/compare.ts")).compare,
  },
  tune: {
    about: "Try settings of a graph's detector on a clip, and list the best.",
    load: async () => (await import("./commands/compare.ts")).tune,
  },
  eval: {
    about: "Score detection and tracking against ground truth.",
    commands: {
      mot: {
        about: "Track the detections of MOT sequences, or score the tracks of another tracker.",
        load: async () => (await import("./commands/eval.ts")).mot,
      },
      clip: {
        about: "Run the graph detect on a clip and score its detections and tracks.",
        load: async () => (await import("./commands/eval.ts")).clip,
      },
      coco: {
        about: "Detect objects in images and score the detections with COCO's metrics.",
        load: async () => (await import("./commands/eval.ts")).coco,
      },
      enhance: {
        about: "Run report enhancement on objects in images and clips.",
        load: async () => (await import("./commands/eval.ts")).enhance,
      },
    },
  },
  models: {
    about: "List, show, download, import and remove detection models.",
    commands: {
      list: {
        about: "List the models: those included with Windhover and your own.",
        load: async () => (await import("./commands/models.ts")).modelsList,
      },
      show: {
        about: "Describe a model, and show its card.",
        load: async () => (await import("./commands/models.ts")).modelsShow,
      },
      get: {
        about: "Download weights, verify their digest and convert them.",
        load: async () => (await import("./commands/models.ts")).modelsGet,
      },
      import: {
        about: "Import a model of your own, so that graphs can use it by name.",
        load: async () => (await import("./commands/models.ts")).modelsImport,
      },
      remove: {
        about: "Remove an imported model.",
        load: async () => (await import("./commands/models.ts")).modelsRemove,
      },
    },
  },
  keys: {
    about: "Create, list, rotate and revoke accounts and their API keys, and change their limits.",
    commands: {
      create: {
        about: "Create an account, and its first API key.",
        load: async () => (await import("./commands/keys.ts")).keysCreate,
      },
      list: {
        about: "List the accounts, or the API keys of one.",
        load: async () => (await import("./commands/keys.ts")).keysList,
      },
      add: {
        about: "Create a further API key of an account, with scopes.",
        load: async () => (await import("./commands/account-keys.ts")).keysAdd,
      },
      rotate: {
        about: "Replace an API key by a new one; the old one stays valid for a while.",
        load: async () => (await import("./commands/account-keys.ts")).keysRotate,
      },
      edit: {
        about: "Change limits, features and expiry of an account.",
        load: async () => (await import("./commands/account-keys.ts")).keysEdit,
      },
      revoke: {
        about: "Revoke accounts or API keys permanently.",
        load: async () => (await import("./commands/keys.ts")).keysRevoke,
      },
      allocate: {
        about: "Allocate pending minutes of a master to itself or a child.",
        load: async () => (await import("./commands/keys.ts")).keysAllocate,
      },
    },
  },
  nodes: {
    about: "List the servers that share a database, and drain one of them.",
    usual: "list",
    commands: {
      list: {
        about: "List the nodes of the service.",
        load: async () => (await import("./commands/nodes.ts")).nodesList,
      },
      drain: {
        about: "Take no more processes on a node, and hand its own over.",
        load: async () => (await import("./commands/nodes.ts")).nodesDrain,
      },
      undrain: {
        about: "End the draining of a node.",
        load: async () => (await import("./commands/nodes.ts")).nodesUndrain,
      },
    },
  },
  storage: {
    about: "Check the file storage, and move files to a bucket.",
    commands: {
      check: {
        about: "Check the file storage: write, read, list and delete a test file.",
        load: async () => (await import("./commands/storage.ts")).storageCheck,
      },
      migrate: {
        about: "Move videos and recordings from data_dir to the bucket.",
        load: async () => (await import("./commands/storage.ts")).storageMigrate,
      },
    },
  },
  test: {
    about: "Run the tests that graph files have.",
    load: async () => (await import("./commands/test.ts")).default,
  },
  golden: {
    about: "Record the messages of a graph on a clip, and detect changes later.",
    commands: {
      record: {
        about: "Run a graph on a clip and record every message it sends.",
        load: async () => (await import("./commands/golden.ts")).goldenRecord,
      },
      check: {
        about: "Run it again and report the differences.",
        load: async () => (await import("./commands/golden.ts")).goldenCheck,
      },
    },
  },
  bench: {
    about: "Run a benchmark.",
    load: async () => (await import("./commands/bench.ts")).default,
  },
};
