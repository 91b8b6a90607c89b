/** Which test files there are, and in which order they start. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join, relative, resolve, sep } from "node:path";

const SKIPPED = new Set(["node_modules", "build", "data"]);
const SOAK_ENDING = ".soak.ts";

/** Soak tests run only when they are asked for, by their name (`--soak`) or path: what they repeat or stress, others test once. */
const TEST_ENDINGS = [".test.ts", SOAK_ENDING];

/**
 * The tests of each of these lists of folders and files run in one process, one file after the other in the order of their
 * names: starting a process and loading its modules would cost them a quarter of their processor time. They start first.
 */
const SHARED_PROCESSES = [
  ["test/cluster/two-nodes/"],
  // Those of this and the next list use test/api/shared-service.fixture.ts.
  [
    ...["alerts", "client", "cot", "file-jobs", "interface", "mcp", "media", "tracks", "walk", "workflow"].map(
      (name) => `test/api/${name}.test.ts`,
    ),
  ],
  [
    ...["evidence", "recorded-starts", "shadow"].map((name) => `test/api/${name}.test.ts`),
    ...["flight", "klv"].map((name) => `test/flight/${name}.test.ts`),
  ],
  ["test/browser/console-alerts", "test/browser/console-graphs", "test/browser/console-sign-in"],
  ["test/browser/console-"],
  ["test/browser/"],
  // In two: together they would be the end of a run on a busy machine.
  ["hub/rtsp/", "hub/rtmp/"],
  ["hub/"],
  ["server/api/"],
  ["elements/"],
  ["native/"],
  ["server/store/"],
  ["server/processes/"],
  ["server/delivery/", "server/webhooks/", "server/alerts/", "server/tracks/", "server/cluster/"],
  ["server/media/"],
  ["server/"],
  ["graphs/runtime/"],
  ["cli/run/", "cli/replay/"],
  ["cli/", "tools/"],
  ["media/"],
  ["clips/", "enhance/", "models/", "telemetry/", "terrain/", "vision/"],
];

/** Not with others in one process: they examine or change the state of their whole process, or keep a media hub. */
const ALONE = [
  ...[
    "commands/golden",
    "commands/models",
    "commands/serve",
    "run/interrupt",
    "run/reload-elements",
    "serve/registry",
    "serve/workspace",
  ].map((name) => `cli/${name}.test.ts`),
  "graphs/runtime/runner/orphan.test.ts",
  ...["rtmp/chunks", "rtmp/publisher"].map((name) => `media/${name}.test.ts`),
  ...["confinement/confinement", "enhancement/enhancements", "evidence/evidence", "files/open-files", "log/log"].map(
    (name) => `server/${name}.test.ts`,
  ),
  ...["commands", "runner", "start"].map((name) => `server/processes/${name}.test.ts`),
  ...["telemetry/throttle", "tracks/export-tracks"].map((name) => `server/${name}.test.ts`),
];

/** Its files use services that a fixture there opens: they are loaded together, and the services closed after all of them. */
export const sharesServices = (file, root) => relative(root, file).startsWith(join("test/cluster/two-nodes/"));

/** @returns {string[][]} the files of each shared process, and the others each in a list of its own */
export function shareProcesses(files, root) {
  const nameOf = (file) => relative(root, file).split(sep).join("/");
  const findPlace = (name) =>
    ALONE.includes(name)
      ? -1
      : SHARED_PROCESSES.findIndex((folders) => folders.some((folder) => name.startsWith(folder)));
  const placed = files.map((file) => ({ file, place: findPlace(nameOf(file)) }));
  const filesAt = (at) => placed.filter(({ place }) => place === at).map(({ file }) => file);
  const shared = SHARED_PROCESSES.map((_, at) => filesAt(at)).filter((group) => group.length > 0);
  return [...shared, ...orderTests(filesAt(-1), root).map((file) => [file])];
}

/**
 * The slowest files start first, so that the run does not end with a wait for one of them. A run of all tests prints the
 * slowest files; keep this list up to date with it.
 */
const SLOWEST = [
  "test/cluster/files.test.ts",
  "test/api/cameras.test.ts",
  "test/api/graph-tests.test.ts",
  "test/recipes.test.ts",
  "server/evidence/evidence.test.ts",
  "test/crash/crash.test.ts",
  "test/api/links.test.ts",
  "cli/commands/serve.test.ts",
  "test/api/outputs.test.ts",
  "test/golden/detect.test.ts",
  "test/docs/commands.test.ts",
  "server/media/recordings/modes.test.ts",
  "cli/commands/golden.test.ts",
  "setup/test.test.ts",
];

/** All files below `folder` with one of these endings, sorted. */
function findFiles(folder, ...endings) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      if (SKIPPED.has(entry.name) || entry.name.startsWith(".")) return [];
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return findFiles(path, ...endings);
      return entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)) ? [path] : [];
    })
    .sort();
}

/** @param {readonly string[]} paths files or folders; an empty list means the whole project */
export function findTests(root, paths) {
  if (paths.length === 0) return findFiles(root, ".test.ts");
  return paths.flatMap((path) => {
    const full = resolve(path);
    if (!existsSync(full)) throw new Error(`no such file or folder: ${path}`);
    return statSync(full).isDirectory() ? findFiles(full, ...TEST_ENDINGS) : [full];
  });
}

/** Programs that tests start as child processes. */
export const findChildren = (root) => findFiles(root, ".child.ts");

/** @param {readonly string[]} names such as `stops`; an empty list means all of them */
export function findSoaks(root, names) {
  const folder = join(root, "test/soak");
  const files = existsSync(folder) ? findFiles(folder, SOAK_ENDING) : [];
  const known = new Map(files.map((file) => [basename(file, SOAK_ENDING), file]));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new Error(
      `no such soak test: ${unknown.join(", ")}; expected one of ${[...known.keys()].join(", ") || "none"}`,
    );
  }
  return names.length === 0 ? files : names.map((name) => known.get(name));
}

/** The slowest first, then tests of the whole service, then tests beside the code. */
function orderTests(files, root) {
  const rankOf = (file) => {
    const name = relative(root, file).split(sep).join("/");
    const rank = SLOWEST.indexOf(name);
    if (rank >= 0) return rank;
    return SLOWEST.length + (name.startsWith("test/") ? 0 : 1);
  };
  return files
    .map((file) => ({ file, rank: rankOf(file) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ file }) => file);
}
