/** Which test files there are, and in which order they start. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join, relative, resolve, sep } from "node:path";

const SKIPPED = new Set(["node_modules", "build", "data"]);
const SOAK_ENDING = ".soak.ts";

/** Soak tests are tests too: without `--soak` they run with small counts. */
const TEST_ENDINGS = [".test.ts", SOAK_ENDING];

/**
 * These only run in full: with small counts they would repeat what is tested elsewhere. `media`: server/media and
 * test/cluster kill the hub, test/soak/outputs.soak.ts attaches outputs. `notices`: delivery.soak.ts. `flight`:
 * test/flight. `fuzz`: attack.soak.ts sends generated requests, and all tests of the API validate the responses. `cluster`:
 * test/cluster kills and drains nodes, server/processes/registry.test.ts cuts them off from the database.
 * `telemetry-formats`: telemetry/, whose tests it repeats. `recipes`: test/recipes.test.ts. `fan-out` measures.
 * `newcomer`: cli/commands/init.test.ts, cli/run/reload-elements.test.ts, server/api/own-graphs.test.ts. `starts`:
 * server/processes/start.test.ts rejects starts that take too long, without keeping all processors busy. `inference`:
 * elements/detect/faults.test.ts, with workers that fail by script.
 */
const ONLY_IN_FULL = [
  ...["media", "notices", "flight", "fuzz", "cluster", "faults", "links", "telemetry-formats", "recipes", "fan-out"],
  ...["newcomer", "starts", "inference"],
].map((name) => join("test/soak", name + SOAK_ENDING));

/**
 * The tests of each of these lists of folders run in one process, one file after the other in the order of their names:
 * starting a process and loading its modules would cost them a quarter of their processor time. They start first.
 */
const SHARED_PROCESSES = [
  ["test/cluster/two-nodes/"],
  ["hub/"],
  ["server/api/"],
  ["elements/"],
  ["native/"],
  ["server/store/"],
  ["server/processes/"],
  ["server/delivery/", "server/webhooks/", "server/alerts/", "server/tracks/", "server/cluster/"],
  ["server/"],
  ["graphs/runtime/"],
  ["cli/run/", "cli/replay/"],
  ["cli/", "tools/"],
  ["media/"],
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
  ...["runner/bundle", "runner/orphan"].map((name) => `graphs/runtime/${name}.test.ts`),
  ...["rtmp/chunks", "rtmp/publisher"].map((name) => `media/${name}.test.ts`),
  ...["confinement/confinement", "enhancement/enhancements", "evidence/evidence", "files/open-files", "log/log"].map(
    (name) => `server/${name}.test.ts`,
  ),
  ...["media-hub", "supervision", "recordings/modes", "recordings/real-hub", "recordings/recording-uploads"].map(
    (name) => `server/media/${name}.test.ts`,
  ),
  ...["commands", "runner", "start"].map((name) => `server/processes/${name}.test.ts`),
  ...["streams/running-process", "telemetry/real-runner", "telemetry/throttle", "tracks/export-tracks"].map(
    (name) => `server/${name}.test.ts`,
  ),
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
  "test/browser/players.test.ts",
  "test/cluster/files.test.ts",
  "test/api/cameras.test.ts",
  "test/browser/console-map.test.ts",
  "test/browser/console-graphs.test.ts",
  "test/api/graph-tests.test.ts",
  "test/browser/console.test.ts",
  "test/recipes.test.ts",
  "test/browser/console-alerts.test.ts",
  "server/evidence/evidence.test.ts",
  "test/crash/crash.test.ts",
  "test/api/links.test.ts",
  "test/flight/flight.test.ts",
  "test/browser/console-review.test.ts",
  "cli/commands/serve.test.ts",
  "test/soak/attack.soak.ts",
  "test/api/outputs.test.ts",
  "test/browser/demo.test.ts",
  "test/golden/detect.test.ts",
  "test/browser/console-nodes.test.ts",
  "test/docs/commands.test.ts",
  "server/media/recordings/modes.test.ts",
  "test/api/client.test.ts",
  "test/api/interface.test.ts",
  "test/api/tracks.test.ts",
  "test/cluster/pgbouncer.test.ts",
  "test/api/workflow.test.ts",
  "test/soak/evidence.soak.ts",
  "test/soak/publishers.soak.ts",
  "cli/commands/golden.test.ts",
  "test/flight/klv.test.ts",
  "test/api/cot.test.ts",
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
  if (paths.length === 0) {
    return findFiles(root, ...TEST_ENDINGS).filter((file) => !ONLY_IN_FULL.includes(relative(root, file)));
  }
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
