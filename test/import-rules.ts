/** The table "who may import whom", and what follows from it. Adding a folder to the project means adding a row. */
import { type Import, isComputed, resolveImport, type SourceFile } from "./import-graph.ts";

interface Row {
  /** The row of a file is the one with the longest matching path. `*` stands for one folder. */
  readonly part: string;
  /** Besides the part itself. */
  readonly may: readonly string[];
  /** Only as types. */
  readonly types?: readonly string[];
  /** Only by a dynamic import, where it is used. */
  readonly lazily?: readonly string[];
}

export const TABLE: readonly Row[] = [
  { part: "schemas", may: [] },
  // Writes the published JSON Schemas, which list the known elements. A program, imported by nobody.
  { part: "schemas/publish.ts", may: ["schemas", "elements"] },
  { part: "native", may: [] },
  { part: "elements/element.ts", may: ["schemas"] },
  { part: "elements/index.ts", may: ["elements"] },
  { part: "elements/find.ts", may: ["elements"] },
  // Of what broke: where in the sources.
  { part: "elements/source-lines.ts", may: [] },
  { part: "elements/*", may: ["schemas", "elements/element.ts"] },
  { part: "elements/detect", may: ["schemas", "elements/element.ts", "models"] },
  { part: "elements/publish", may: ["schemas", "elements/element.ts", "media"] },
  { part: "elements/track", may: ["schemas", "elements/element.ts", "vision"] },
  { part: "elements/telemetry", may: ["schemas", "elements/element.ts", "vision"] },
  { part: "elements/report", may: ["schemas", "elements/element.ts", "vision"] },
  { part: "elements/alerts", may: ["schemas", "elements/element.ts", "vision"] },
  { part: "models", may: ["schemas"] },
  // What can be said of a track by its picture: colours, kinds, plates. A process of its own in the service.
  { part: "enhance", may: ["schemas", "models", "ipc"] },
  // Real clips: fetched, converted, published over and over. A process of its own in the service; tests look at them too.
  { part: "clips", may: ["schemas", "models", "media"] },
  { part: "graphs/compiler", may: ["schemas", "elements"] },
  { part: "graphs/runtime", may: ["schemas", "elements", "native", "graphs/compiler", "ipc"] },
  // Wire formats, pure: what the hub and the element `publish` both speak.
  { part: "media", may: [] },
  // What can be seen in pictures without a model: how the camera moved. Its loops over pixels are kernels of the addon.
  { part: "vision", may: ["schemas", "native"] },
  // Formats of telemetry, pure: from what comes in to samples.
  { part: "telemetry", may: ["schemas"] },
  // Formats of exported tracks, pure: from tracks to files.
  { part: "tracks", may: ["schemas"] },
  // Messages between our processes, and how children are started, watched and ended.
  { part: "ipc", may: ["schemas"] },
  { part: "hub", may: ["schemas", "media", "ipc"] },
  { part: "server", may: ["schemas", "graphs/compiler", "telemetry", "tracks", "ipc"] },
  {
    part: "cli",
    may: [
      ...["schemas", "native", "elements", "models", "graphs", "media", "hub", "server", "telemetry", "tracks"],
      ...["vision", "enhance"],
    ],
    lazily: ["tools"],
  },
  // Benchmarks, evaluations and the trackers they compare with. The product runs without them.
  {
    part: "tools",
    may: [
      ...["schemas", "native", "elements", "models", "graphs", "media", "hub", "server", "telemetry", "tracks"],
      ...["vision", "enhance", "cli"],
    ],
  },
  // For others to use as well: it knows nothing of ours but the document that it was made from.
  { part: "client", may: [] },
  // Programs that write pages and the client from definitions; imported by nobody.
  { part: "docs", may: ["schemas", "elements", "models", "server", "cli", "client"] },
  { part: "console", may: ["client"], types: ["schemas"] },
  { part: "setup", may: [] },
  // What a release consists of, and whether that is allowed and sound. Programs, imported by nobody.
  { part: "supply", may: ["models", "setup"] },
  // What the image is made with.
  { part: "docker", may: ["setup"] },
];

/** May load modules by a name made up while running: elements and benches by their files, what the set-up has bundled. */
const MAY_COMPUTE = [
  "elements/find.ts",
  "setup/bundle.mjs",
  "setup/bundle-tests.mjs",
  "setup/load.mjs",
  "cli/commands/bench.ts",
];

/** What the beginnings of programs hand over with; nobody imports those. */
const LOADER = "setup/load.mjs";

/**
 * What an element's module may load at its top besides our own: schemas, and built-ins that only compute. Everything
 * else waits until `create`.
 */
const LIGHT_PACKAGES = ["typebox", "node:path", "node:url"];

const matches = (pattern: string, path: string): boolean => {
  const parts = path.split("/");
  return pattern.split("/").every((part, i) => (part === "*" ? i < parts.length - 1 : part === parts[i]));
};

/** The longest pattern wins, and of two as long the one without a star. */
function findRow(path: string): Row | undefined {
  const weight = (row: Row) => row.part.split("/").length * 2 - (row.part.includes("*") ? 1 : 0);
  return TABLE.filter((row) => matches(row.part, path)).sort((a, b) => weight(b) - weight(a))[0];
}

/** The folder a file may always import from: `elements/track` for the row `elements/*`. */
const ownPart = (row: Row, path: string): string => path.split("/").slice(0, row.part.split("/").length).join("/");

/** Tests, their fixtures and the programs they start are free: they may import what they test together. Nothing else may import them. */
export const isTest = (path: string): boolean =>
  path.startsWith("test/") || /\.(test|soak|fixture|child)\.ts$/.test(path);

const describe = (file: SourceFile, { specifier, line }: Import): string => `${file.path}:${line} imports ${specifier}`;

/** One sentence for every import that the table does not allow. */
export function judgeTable(files: readonly SourceFile[]): string[] {
  return files
    .filter((file) => !isTest(file.path))
    .flatMap((file) => {
      const row = findRow(file.path);
      if (row === undefined) {
        return file.path.includes("/") ? [`${file.path} has no row in the table of imports`] : [];
      }
      return file.imports.flatMap((entry) => judgeImport(file, row, entry));
    });
}

function judgeImport(file: SourceFile, row: Row, entry: Import): string[] {
  if (isComputed(entry.specifier)) {
    if (MAY_COMPUTE.includes(file.path)) return [];
    return [`${describe(file, entry)}: write the name out, so that the table can be held`];
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
    `${describe(file, entry)}: ${row.part} may import ${row.may.join(", ") || "nothing of ours"}${types}${lazily}`,
  ];
}

/** One sentence for every heavy module that is loaded just by looking at an element's definition. */
export function judgeElementTops(files: readonly SourceFile[]): string[] {
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
          return [`${describe(file, entry)}${via}: import it inside create, so that listing elements stays light`];
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

/** One sentence for every file whose name says nothing, or says it in the wrong style. */
export function judgeNames(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    const empty = path.split(/[/._-]/).find((word) => EMPTY_WORDS.test(word));
    const name = path.split("/").at(-1) ?? "";
    const wrong = NAME_STYLES.find(([ending, style]) => ending.test(name) && !style.test(name));
    return [
      ...(empty === undefined ? [] : [`${path}: "${empty}" says nothing; name it by its role`]),
      ...(wrong === undefined ? [] : [`${path}: files of this kind are named in ${wrong[2]}`]),
    ];
  });
}
