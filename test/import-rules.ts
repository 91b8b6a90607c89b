/** Rules about imports and file names: the table "who may import whom", no import cycles. A new folder needs a row. */
import { type Import, isComputed, resolveImport, type SourceFile } from "./import-graph.ts";

interface Row {
  /** The row of a file is the one with the longest matching path. `*` matches one folder, `*.ts` one file. */
  readonly part: string;
  /** Parts it may import in addition to itself. */
  readonly may: readonly string[];
  /** Type imports only. */
  readonly types?: readonly string[];
  /** Dynamic imports only. */
  readonly lazily?: readonly string[];
}

/** Folders of `server/`, top layer first. A folder may import its own layer and the layers below it. */
const SERVER_LAYERS: readonly (readonly string[])[] = [
  ["api"],
  [
    ...["processes", "sources", "media", "alerts", "webhooks", "tracks", "enhancement", "streams", "demo", "telemetry"],
    ...["metrics", "clips", "detections", "evidence", "map", "models", "graph-tests", "events"],
  ],
  ["delivery", "store", "graphs", "mqtt", "keys", "config", "outputs", "cluster", "files"],
  ["async", "net", "log", "confinement", "tracing"],
];
const SERVER_FOLDERS = SERVER_LAYERS.map((folders) => folders.map((folder) => `server/${folder}`));
/** What all of `server/` may import; files directly in `server/` are below every layer, except for `main.ts`. */
const SERVER_BASE = ["server/*.ts", "schemas", "graphs/compiler", "telemetry", "terrain", "tracks", "ipc"];
const SERVER_ROWS: readonly Row[] = [
  { part: "server/main.ts", may: [...SERVER_BASE, ...SERVER_FOLDERS.flat()] },
  ...SERVER_FOLDERS.flatMap((folders, layer) =>
    folders.map((part) => ({ part, may: [...SERVER_BASE, ...SERVER_FOLDERS.slice(layer).flat()] })),
  ),
  // Reads the files that the hub has recorded.
  {
    part: "server/media/recordings",
    may: [...SERVER_BASE, ...SERVER_FOLDERS.slice(1).flat(), "media"],
  },
  // Reads telemetry and times of recording in uploaded files.
  {
    part: "server/sources/video-metadata.ts",
    may: [...SERVER_BASE, ...SERVER_FOLDERS.slice(1).flat(), "media"],
  },
  // Checksums of gzip.
  { part: "server/detections/gzip-parts.ts", may: ["media"] },
  { part: "server/*.ts", may: [...SERVER_BASE, ...(SERVER_FOLDERS.at(-1) ?? [])] },
];

/** What elements that send encoded video may import. */
const VIDEO_OUTPUT = [
  "elements/element.ts",
  "elements/outlet-handler.ts",
  "elements/video-outlet.ts",
  "schemas",
  "media",
];

export const TABLE: readonly Row[] = [
  { part: "schemas", may: [] },
  // Writes the published JSON Schemas, which list the known elements. A program: no file imports it.
  { part: "schemas/publish.ts", may: ["schemas", "elements"] },
  { part: "native", may: [] },
  { part: "elements/element.ts", may: ["schemas"] },
  { part: "elements/output-reports.ts", may: ["schemas", "elements/element.ts"] },
  // What the outputs of encoded video share.
  { part: "elements/access-units.ts", may: ["media"] },
  { part: "elements/video-outlet.ts", may: ["schemas", "media"] },
  { part: "elements/sound-units.ts", may: ["schemas", "media", "elements/element.ts"] },
  {
    part: "elements/outlet-handler.ts",
    may: ["element", "output-reports", "access-units", "sound-units", "video-outlet"]
      .map((name) => `elements/${name}.ts`)
      .concat("media"),
  },
  { part: "elements/index.ts", may: ["elements", "schemas"] },
  { part: "elements/find.ts", may: ["elements"] },
  { part: "elements/taken-names.ts", may: ["elements"] },
  { part: "elements/list-folder.ts", may: [] },
  // Elements outside of this repository: found, built, run.
  { part: "elements/outside.ts", may: ["elements", "schemas"] },
  { part: "elements/build.ts", may: ["elements/host-modules.ts"] },
  { part: "elements/evaluate.ts", may: ["elements/build.ts", "elements/host-modules.ts", "elements/source-lines.ts"] },
  { part: "elements/host-modules.ts", may: ["elements/public.ts"] },
  // The package `@windhover/element`.
  { part: "elements/public.ts", may: ["schemas", "elements/element.ts"] },
  // Maps the position of an error back to its source file and line.
  { part: "elements/source-lines.ts", may: [] },
  { part: "elements/*", may: ["schemas", "elements/element.ts"] },
  { part: "elements/detect", may: ["schemas", "elements/element.ts", "models", "vision"] },
  { part: "elements/cot", may: ["schemas", "elements/element.ts", "elements/output-reports.ts", "terrain"] },
  { part: "elements/publish", may: VIDEO_OUTPUT },
  // Reads telemetry in live streams.
  { part: "elements/source", may: ["schemas", "elements/element.ts", "media", "telemetry"] },
  { part: "elements/track", may: ["schemas", "elements/element.ts", "vision"] },
  { part: "elements/geolocate", may: ["schemas", "elements/element.ts", "terrain"] },
  { part: "elements/telemetry", may: ["schemas", "elements/element.ts", "vision"] },
  { part: "elements/report", may: ["schemas", "elements/element.ts", "vision"] },
  { part: "elements/alerts", may: ["schemas", "elements/element.ts", "vision"] },
  // Sends the messages of `detections` over the connections of `cot`.
  {
    part: "elements/mqtt",
    may: ["schemas", "elements/element.ts", "elements/output-reports.ts", "elements/cot", "elements/detections"],
  },
  // Video with telemetry as KLV.
  { part: "elements/mpegts", may: [...VIDEO_OUTPUT, "telemetry"] },
  { part: "elements/filter", may: ["schemas", "elements/element.ts", "expressions"] },
  { part: "elements/map", may: ["schemas", "elements/element.ts", "expressions"] },
  // Regions are those of alerts.
  { part: "elements/count", may: ["schemas", "elements/element.ts", "elements/alerts", "expressions"] },
  { part: "models", may: ["schemas"] },
  // Attributes of a track from its image patches: colours, kinds, number plates. A child process of the service.
  { part: "enhance", may: ["schemas", "models", "ipc"] },
  // Real clips for the demo and for tests: download and conversion.
  { part: "clips", may: ["models"] },
  // Expressions of graphs: conditions and computed values. Pure functions.
  { part: "expressions", may: ["schemas"] },
  { part: "graphs/compiler", may: ["schemas", "elements", "expressions"] },
  { part: "graphs/runtime", may: ["schemas", "elements", "native", "graphs/compiler", "ipc"] },
  // Wire and file formats that the hub, the element `publish` and the server share. Pure functions.
  { part: "media", may: [] },
  // Image analysis without a model: camera motion. Its loops over pixels are kernels of the addon.
  { part: "vision", may: ["schemas", "native"] },
  // Heights of the ground from files, and the geoid.
  { part: "terrain", may: [] },
  // Telemetry formats: from messages to samples. Pure functions.
  { part: "telemetry", may: ["schemas", "terrain"] },
  // Export formats: from tracks to files. Pure functions.
  { part: "tracks", may: ["schemas"] },
  // Messages between processes; starting, watching and ending child processes.
  { part: "ipc", may: ["schemas"] },
  { part: "hub", may: ["schemas", "media", "ipc"] },
  ...SERVER_ROWS,
  {
    part: "cli",
    may: [
      ...["schemas", "native", "elements", "models", "graphs", "media", "hub", "server", "telemetry", "tracks"],
      ...["vision", "enhance", "clips"],
    ],
    lazily: ["tools"],
  },
  // Benchmarks, evaluations and the trackers they compare with. The product runs without them.
  {
    part: "tools",
    may: [
      ...["schemas", "native", "elements", "models", "graphs", "media", "hub", "server", "telemetry", "tracks"],
      ...["vision", "enhance", "cli", "clips", "expressions"],
    ],
  },
  // Published on its own: generated from the OpenAPI document, independent of the rest.
  { part: "client", may: [] },
  // Programs that generate pages and the client from definitions. No file imports them.
  { part: "docs", may: ["schemas", "elements", "expressions", "models", "server", "cli", "client"] },
  { part: "console", may: ["client"], types: ["schemas"] },
  { part: "setup", may: [] },
  // Bill of materials, licences and audit of a release. Programs: no file imports them.
  { part: "supply", may: ["models", "setup"] },
  // The container image.
  { part: "docker", may: ["setup"] },
];

/** Files that may compute an import specifier at run time: for elements, benchmarks and bundles. */
const MAY_COMPUTE = [
  "elements/find.ts",
  "setup/bundle.mjs",
  "setup/bundle-tests.mjs",
  "setup/load.mjs",
  "setup/test-file.mjs",
  "cli/commands/bench.ts",
];

/** Every entry point (`*.mjs`) may import it. */
const LOADER = "setup/load.mjs";

/** Packages that an element's module may import statically. Everything heavier is imported inside `create`. */
const LIGHT_PACKAGES = ["typebox", "node:path", "node:url"];

const matches = (pattern: string, path: string): boolean => {
  const parts = path.split("/");
  return pattern.split("/").every((part, i) => {
    if (part === "*") return i < parts.length - 1;
    return part === "*.ts" ? i === parts.length - 1 && path.endsWith(".ts") : part === parts[i];
  });
};

/** The longest pattern wins; of two of the same length, the one without a star. */
function findRow(path: string): Row | undefined {
  const weight = (row: Row) => row.part.split("/").length * 2 - (row.part.includes("*") ? 1 : 0);
  return TABLE.filter((row) => matches(row.part, path)).sort((a, b) => weight(b) - weight(a))[0];
}

/** The folder a file may always import from: `elements/track` for the row `elements/*`. */
const ownPart = (row: Row, path: string): string => path.split("/").slice(0, row.part.split("/").length).join("/");

/** Tests, fixtures and test programs may import everything. Other files may not import them. */
export const isTest = (path: string): boolean =>
  path.startsWith("test/") || /\.(test|soak|fixture|child)\.(ts|mjs)$/.test(path);

const describe = (file: SourceFile, { specifier, line }: Import): string => `${file.path}:${line} imports ${specifier}`;

/** One message for every import that the table does not allow. */
export function checkTable(files: readonly SourceFile[]): string[] {
  return files
    .filter((file) => !isTest(file.path))
    .flatMap((file) => {
      const row = findRow(file.path);
      if (row !== undefined) return file.imports.flatMap((entry) => checkImport(file, row, entry));
      return file.path.includes("/") ? [`${file.path} has no row in the table of imports (test/import-rules.ts)`] : [];
    });
}

function checkImport(file: SourceFile, row: Row, entry: Import): string[] {
  if (isComputed(entry.specifier)) {
    if (MAY_COMPUTE.includes(file.path)) return [];
    return [`${describe(file, entry)}: use a string literal, so that the table can be checked`];
  }
  const target = resolveImport(file.path, entry.specifier);
  if (target === null) return [];
  if (target === LOADER && file.path.endsWith(".mjs")) return [];
  const allowed = [
    ...[ownPart(row, file.path), ...row.may],
    ...(entry.kind === "type" ? (row.types ?? []) : []),
    ...(entry.kind === "dynamic" ? (row.lazily ?? []) : []),
  ];
  if (allowed.some((pattern) => matches(pattern, target)) && !isTest(target)) return [];
  const types = row.types === undefined ? "" : `, and types of ${row.types.join(", ")}`;
  const lazily = row.lazily === undefined ? "" : `, and by dynamic import ${row.lazily.join(", ")}`;
  return [
    `${describe(file, entry)}: ${row.part} may import ${row.may.join(", ") || "no other folder"}${types}${lazily}`,
  ];
}

type Graph = ReadonlyMap<string, readonly string[]>;

/** Imports between files of the project: static, dynamic and type imports, tests included. */
function readGraph(files: readonly SourceFile[]): Graph {
  const known = new Set(files.map(({ path }) => path));
  return new Map(
    files.map(({ path, imports }) => {
      const targets = imports.flatMap(({ specifier }) => resolveImport(path, specifier) ?? []);
      return [path, targets.filter((target) => known.has(target))];
    }),
  );
}

/** One shortest import cycle, `a.ts → b.ts → a.ts`, for every group of files that import each other. */
export function findCycles(files: readonly SourceFile[]): string[] {
  const graph = readGraph(files);
  const reported = new Set<string>();
  return [...graph.keys()].flatMap((path) => {
    if (reported.has(path)) return [];
    const cycle = findPath(graph, path, path);
    if (cycle === null) return [];
    for (const member of cycle) reported.add(member);
    return [cycle.join(" → ")];
  });
}

/** Shortest path along at least one import, by breadth-first search; null when there is none. */
function findPath(graph: Graph, from: string, to: string): readonly string[] | null {
  const importers = new Map<string, string>();
  const queue = [from];
  for (const path of queue)
    for (const target of graph.get(path) ?? []) {
      if (importers.has(target)) continue;
      importers.set(target, path);
      if (target !== to) {
        queue.push(target);
        continue;
      }
      const found = [to];
      for (let at = importers.get(to); at !== undefined; at = importers.get(at)) {
        found.unshift(at);
        if (at === from) return found;
      }
    }
  return null;
}

/** One message for every heavy module that importing an element's definition would load. */
export function checkElementModules(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const tops = files.filter(({ path }) => /^elements\/([^/]+)\/\1\.ts$/.test(path));
  return tops.flatMap((top) => {
    const seen = new Set<string>();
    const visit = (file: SourceFile): string[] => {
      if (seen.has(file.path)) return [];
      seen.add(file.path);
      return file.imports
        .filter(({ kind }) => kind === "static")
        .flatMap((entry) => {
          const target = resolveImport(file.path, entry.specifier);
          if (target !== null) return visit(byPath.get(target) ?? { path: target, imports: [] });
          if (LIGHT_PACKAGES.some((name) => entry.specifier === name || entry.specifier.startsWith(`${name}/`)))
            return [];
          const via = file === top ? "" : ` (reached from ${top.path})`;
          return [`${describe(file, entry)}${via}: import it inside create, so that listing elements stays fast`];
        });
    };
    return visit(top);
  });
}

const EMPTY_WORDS = /^(utils?|helpers?|commons?|misc|managers?)$/;
const NAME_STYLES: readonly (readonly [ending: RegExp, style: RegExp, words: string])[] = [
  [/\.(ts|mjs|js)$/, /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*$/, "kebab-case"],
  [/\.(cc|h)$/, /^[a-z0-9]+(_[a-z0-9]+)*\.[a-z]+$/, "snake_case"],
];

/** One message for every file name without meaning or in the wrong style. */
export function checkNames(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    const empty = path.split(/[/._-]/).find((word) => EMPTY_WORDS.test(word));
    const name = path.split("/").at(-1) ?? "";
    const wrong = NAME_STYLES.find(([ending, style]) => ending.test(name) && !style.test(name));
    return [
      ...(empty === undefined ? [] : [`${path}: "${empty}" has no meaning; name the file by its role`]),
      ...(wrong === undefined ? [] : [`${path}: file names of this type are ${wrong[2]}`]),
    ];
  });
}
