/**
 * Builds build/windhover.node, build/dtls.node, build/srt.node, build/confine and build/camera with plain g++: Node-API needs
 * two header packages and no node-gyp. Names of object files contain a hash of their inputs, so only changed sources are compiled.
 *
 *   node setup/build-addon.mjs              build what is out of date
 *   node setup/build-addon.mjs --sanitize   build/asan/*.node, for LD_PRELOAD=$(gcc -print-file-name=libasan.so)
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandFailure, endCommandsOnSignal, runCommand } from "./command.mjs";
import { withLock } from "./lock.mjs";
import { HEADERS, LIBRARIES, SRT_LIBRARIES } from "./packages.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCES = join(ROOT, "native/src");
const CAMERA = join(ROOT, "native/camera/camera.cc");
const CONFINE = join(ROOT, "native/confine");
const DTLS = join(ROOT, "native/dtls/dtls.cc");
const SRT = join(ROOT, "native/srt/srt.cc");

const CAMERA_PACKAGES = ["gstreamer-1.0", "gstreamer-rtsp-server-1.0"];

const FLAGS = [
  "-std=c++17",
  "-O3",
  "-g1",
  "-fPIC",
  "-fno-omit-frame-pointer",
  "-Wall",
  "-Wextra",
  "-Werror=return-type",
];
const ADDON_FLAGS = [
  ...FLAGS,
  "-fvisibility=hidden",
  "-DNAPI_VERSION=9",
  "-DNAPI_CPP_EXCEPTIONS",
  // A terminated worker cannot throw: without this flag, an attempt aborts the process.
  "-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS",
  // -isystem: no warnings from third-party headers.
  ...["node-addon-api", "node-api-headers/include"].flatMap((path) => ["-isystem", join("node_modules", path)]),
];
/**
 * Pixel kernels, compiled once for each set of vector instructions (`native/src/kernels.h`). These flags do not allow the
 * compiler to reorder or fuse sums, so that all sets give the same numbers. No other code is compiled without NaNs.
 */
const KERNEL_FLAGS = [
  "-ffp-contract=off",
  "-fno-math-errno",
  "-fno-trapping-math",
  "-ffinite-math-only",
  "-fno-signed-zeros",
];
const KERNEL_SETS = {
  "kernels_plain.cc": ["-fno-tree-vectorize"],
  "kernels_baseline.cc": [],
  ...(process.arch === "x64" && { "kernels_avx2.cc": ["-mavx2"] }),
};
/** Node unloads an addon with the last thread that loaded it, but GStreamer's registered types keep pointing into it. */
const KEEP_LOADED = ["-Wl,-z,nodelete"];
/** OpenSSL is linked into the node binary. Where it is not, loading the addon fails instead of a later call. */
const BIND_AT_LOAD = ["-Wl,-z,now"];
const PART = ".part";
const SANITIZE = ["-fsanitize=address", "-O1"];

/** @returns {boolean} whether all targets are up to date; takes a few milliseconds */
export function isAddonFresh({ sanitize = false } = {}) {
  const { targets, stamp } = layout(sanitize);
  return targets.every(existsSync) && readIfPresent(stamp) === fingerprint();
}

/**
 * Builds targets that are out of date. A target appears under its final name only when it is complete. Rejects with
 * `CommandFailure`, whose lines are the compiler's output. Call it under `withLock`.
 */
export async function buildAddon({ sanitize = false, onProgress = () => {}, onWarning = () => {} } = {}) {
  if (isAddonFresh({ sanitize })) return;
  const { folder, stamp } = layout(sanitize);
  const before = fingerprint();
  mkdirSync(join(folder, "obj"), { recursive: true });
  removeParts(folder);
  const extra = sanitize ? SANITIZE : [];
  const addon = await readFlags(LIBRARIES);
  const camera = await readFlags(CAMERA_PACKAGES);
  const dtls = await readFlags(HEADERS);
  const srt = await readFlags(SRT_LIBRARIES);

  const headers = listSources(".h").map((name) => readFileSync(join(SOURCES, name)));
  const addonObjects = listSources(".cc").map((name) => {
    const kernels = name in KERNEL_SETS ? [...KERNEL_FLAGS, ...KERNEL_SETS[name]] : [];
    return planObject(folder, join(SOURCES, name), [...ADDON_FLAGS, ...extra, ...kernels, ...addon.compile], headers);
  });
  const cameraObjects =
    sanitize || !existsSync(CAMERA) ? [] : [planObject(folder, CAMERA, [...FLAGS, ...camera.compile], [])];

  const dtlsObjects = existsSync(DTLS)
    ? [planObject(folder, DTLS, [...ADDON_FLAGS, ...extra, ...dtls.compile], [])]
    : [];
  const srtObjects = existsSync(SRT) ? [planObject(folder, SRT, [...ADDON_FLAGS, ...extra, ...srt.compile], [])] : [];
  const confineHeaders = listSources(".h", CONFINE).map((name) => readFileSync(join(CONFINE, name)));
  const confineObjects = sanitize
    ? []
    : listSources(".cc", CONFINE).map((name) => planObject(folder, join(CONFINE, name), FLAGS, confineHeaders));

  const objects = [...addonObjects, ...cameraObjects, ...dtlsObjects, ...srtObjects, ...confineObjects];
  const dueCount = objects.filter(({ object }) => !existsSync(object)).length;
  let done = 0;
  const compile = async ({ source, object, flags }) => {
    if (existsSync(object)) return;
    const warnings = await produce(object, (output) => ["-c", source, "-o", output, ...flags]);
    if (warnings !== "") onWarning(warnings);
    done++;
    onProgress(`compiled ${relative(ROOT, source)} (${done} of ${dueCount})`);
  };
  const link = async (target, objects, flags) => {
    const inputs = objects.map(({ object }) => object);
    await produce(target, (output) => ["-o", output, ...inputs, ...flags]);
    onProgress(`linked ${relative(ROOT, target)}`);
  };
  await runJobs([
    ...cameraObjects.map((object) => async () => {
      await compile(object);
      await link(join(folder, "camera"), [object], camera.link);
    }),
    ...dtlsObjects.map((object) => async () => {
      await compile(object);
      await link(join(folder, "dtls.node"), [object], ["-shared", ...KEEP_LOADED, ...BIND_AT_LOAD, ...extra]);
    }),
    ...srtObjects.map((object) => async () => {
      await compile(object);
      await link(join(folder, "srt.node"), [object], ["-shared", ...KEEP_LOADED, ...extra, ...srt.link]);
    }),
    ...[...addonObjects, ...confineObjects].map((object) => () => compile(object)),
  ]);
  if (confineObjects.length > 0) await link(join(folder, "confine"), confineObjects, []);
  if (addonObjects.length > 0) {
    await link(join(folder, "windhover.node"), addonObjects, ["-shared", ...KEEP_LOADED, ...extra, ...addon.link]);
  }
  removeOthers(join(folder, "obj"), new Set(objects.map(({ object }) => object)));
  // The fingerprint from before the build: a source that changed during it is compiled again next time.
  writeFileSync(`${stamp}.${process.pid}`, before);
  renameSync(`${stamp}.${process.pid}`, stamp);
}

function planObject(folder, source, flags, headers) {
  const key = hash([readFileSync(source), ...headers, flags.join("\n")]).slice(0, 16);
  return { source, object: join(folder, "obj", `${basename(source)}-${key}.o`), flags };
}

function layout(sanitize) {
  const folder = join(ROOT, sanitize ? "build/asan" : "build");
  const targets = [];
  if (listSources(".cc").length > 0) targets.push(join(folder, "windhover.node"));
  if (existsSync(DTLS)) targets.push(join(folder, "dtls.node"));
  if (existsSync(SRT)) targets.push(join(folder, "srt.node"));
  if (!sanitize && existsSync(CAMERA)) targets.push(join(folder, "camera"));
  if (!sanitize && listSources(".cc", CONFINE).length > 0) targets.push(join(folder, "confine"));
  return { folder, targets, stamp: join(folder, "addon.stamp") };
}

/** Hash of all inputs except Debian packages, whose headers keep one ABI for a release. */
function fingerprint() {
  const files = [...listSources(".cc"), ...listSources(".h")].sort().map((name) => join(SOURCES, name));
  const confine = [...listSources(".cc", CONFINE), ...listSources(".h", CONFINE)].map((name) => join(CONFINE, name));
  files.push(CAMERA, DTLS, SRT, ...confine, fileURLToPath(import.meta.url));
  for (const name of ["node-addon-api", "node-api-headers"]) {
    files.push(join(ROOT, "node_modules", name, "package.json"));
  }
  return hash([process.arch, ...files.flatMap((file) => [file, readIfPresent(file) ?? ""])]);
}

function listSources(ending, folder = SOURCES) {
  if (!existsSync(folder)) return [];
  // Skips kernels for instruction sets that this architecture does not have.
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending) && (!name.startsWith("kernels_") || name in KERNEL_SETS))
    .sort();
}

async function readFlags(packages) {
  const query = async (option) => (await runCommand("pkg-config", [option, ...packages])).split(/\s+/).filter(Boolean);
  return { compile: await query("--cflags"), link: await query("--libs") };
}

/** Runs g++ with a temporary output name and moves the result into place. */
async function produce(target, argsFor) {
  const output = `${target}.${process.pid}${PART}`;
  try {
    // Relative paths from the root: the output does not depend on the location of the checkout.
    const args = argsFor(output).map((arg) => (arg.startsWith(ROOT) ? relative(ROOT, arg) : arg));
    const warnings = await runCommand("g++", args, { cwd: ROOT });
    renameSync(output, target);
    return warnings;
  } finally {
    rmSync(output, { force: true });
  }
}

/** Runs jobs, at most one per core. After a failure no new job starts; the running ones finish. */
async function runJobs(jobs) {
  const waiting = [...jobs];
  const failures = [];
  const work = async () => {
    while (waiting.length > 0 && failures.length === 0) {
      await waiting
        .shift()()
        .catch((error) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  if (failures.length > 0) throw failures[0];
}

/** Removes partial outputs of an interrupted build. The lock excludes a running one. */
function removeParts(folder) {
  for (const name of readdirSync(folder)) {
    if (name.endsWith(PART)) rmSync(join(folder, name));
  }
}

function removeOthers(folder, keep) {
  for (const name of readdirSync(folder)) {
    if (!keep.has(join(folder, name))) rmSync(join(folder, name), { force: true });
  }
}

function readIfPresent(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function hash(parts) {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(part).update("\0");
  return digest.digest("hex");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  endCommandsOnSignal();
  const sanitize = process.argv.includes("--sanitize");
  try {
    const onWait = () => console.log("waiting for another build of this checkout");
    const build = () => buildAddon({ sanitize, onProgress: console.log, onWarning: console.warn });
    await withLock(ROOT, build, { onWait });
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    console.error(`${error.lines.join("\n")}\n${error.message}`);
    process.exitCode = 1;
  }
}
