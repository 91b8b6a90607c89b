/**
 * Builds build/windhover.node, build/dtls.node, build/confine and build/camera with plain g++: Node-API needs two header packages and
 * nothing of node-gyp. Object files are keyed by what they are made from, so only what changed is compiled.
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
import { HEADERS, LIBRARIES } from "./packages.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCES = join(ROOT, "native/src");
const CAMERA = join(ROOT, "native/camera/camera.cc");
const CONFINE = join(ROOT, "native/confine");
const DTLS = join(ROOT, "native/dtls/dtls.cc");

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
  // A worker that is terminated can throw nothing any more: without this, trying to aborts the process.
  "-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS",
  // -isystem: warnings of the header packages are not ours to mend.
  ...["node-addon-api", "node-api-headers/include"].flatMap((path) => ["-isystem", join("node_modules", path)]),
];
/**
 * Pixel kernels, once for each set of vector instructions: `native/src/kernels.h`. None of these flags lets the compiler
 * reorder or fuse sums, so that all sets give the same numbers. Nothing else may assume that there are no NaNs.
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
/** Node unloads an addon with the last thread that loaded it; GStreamer's types point into it for ever. */
const KEEP_LOADED = ["-Wl,-z,nodelete"];
/** OpenSSL is the one in Node's own program. Where that has none, loading fails, and not a call later on. */
const BIND_AT_LOAD = ["-Wl,-z,now"];
const PART = ".part";
const SANITIZE = ["-fsanitize=address", "-O1"];

/** @returns {boolean} whether everything is built from what is on disk now; a few milliseconds */
export function isAddonFresh({ sanitize = false } = {}) {
  const { targets, stamp } = layout(sanitize);
  return targets.every(existsSync) && readIfThere(stamp) === fingerprint();
}

/**
 * Builds what is out of date. Nothing half-built is ever seen under its final name. Rejects with `CommandFailure`,
 * whose lines are the compiler's own. Call it under `withLock`.
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
  const confineHeaders = listSources(".h", CONFINE).map((name) => readFileSync(join(CONFINE, name)));
  const confineObjects = sanitize
    ? []
    : listSources(".cc", CONFINE).map((name) => planObject(folder, join(CONFINE, name), FLAGS, confineHeaders));

  const objects = [...addonObjects, ...cameraObjects, ...dtlsObjects, ...confineObjects];
  const due = objects.filter(({ object }) => !existsSync(object)).length;
  let done = 0;
  const compile = async ({ source, object, flags }) => {
    if (existsSync(object)) return;
    const warnings = await produce(object, (output) => ["-c", source, "-o", output, ...flags]);
    if (warnings !== "") onWarning(warnings);
    done++;
    onProgress(`compiled ${relative(ROOT, source)} (${done} of ${due})`);
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
    ...[...addonObjects, ...confineObjects].map((object) => () => compile(object)),
  ]);
  if (confineObjects.length > 0) await link(join(folder, "confine"), confineObjects, []);
  if (addonObjects.length > 0) {
    await link(join(folder, "windhover.node"), addonObjects, ["-shared", ...KEEP_LOADED, ...extra, ...addon.link]);
  }
  removeOthers(join(folder, "obj"), new Set(objects.map(({ object }) => object)));
  // Fingerprint from before the work: a source that was saved meanwhile is built again the next time.
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
  if (!sanitize && existsSync(CAMERA)) targets.push(join(folder, "camera"));
  if (!sanitize && listSources(".cc", CONFINE).length > 0) targets.push(join(folder, "confine"));
  return { folder, targets, stamp: join(folder, "addon.stamp") };
}

/** Of all that goes in except the Debian packages, whose headers keep one ABI for a release. */
function fingerprint() {
  const files = [...listSources(".cc"), ...listSources(".h")].sort().map((name) => join(SOURCES, name));
  const confine = [...listSources(".cc", CONFINE), ...listSources(".h", CONFINE)].map((name) => join(CONFINE, name));
  files.push(CAMERA, DTLS, ...confine, fileURLToPath(import.meta.url));
  for (const name of ["node-addon-api", "node-api-headers"]) {
    files.push(join(ROOT, "node_modules", name, "package.json"));
  }
  return hash([process.arch, ...files.flatMap((file) => [file, readIfThere(file) ?? ""])]);
}

function listSources(ending, folder = SOURCES) {
  if (!existsSync(folder)) return [];
  // Kernels for instructions that this architecture does not have are left out.
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending) && (!name.startsWith("kernels_") || name in KERNEL_SETS))
    .sort();
}

async function readFlags(packages) {
  const ask = async (option) => (await runCommand("pkg-config", [option, ...packages])).split(/\s+/).filter(Boolean);
  return { compile: await ask("--cflags"), link: await ask("--libs") };
}

/** Runs g++ towards a temporary name and moves the result into place. */
async function produce(target, argsFor) {
  const output = `${target}.${process.pid}${PART}`;
  try {
    // From the root, with relative paths: what is compiled does not depend on where the checkout lies.
    const args = argsFor(output).map((arg) => (arg.startsWith(ROOT) ? relative(ROOT, arg) : arg));
    const warnings = await runCommand("g++", args, { cwd: ROOT });
    renameSync(output, target);
    return warnings;
  } finally {
    rmSync(output, { force: true });
  }
}

/** All jobs, at most one a core at a time; after a failure no new one starts, and the running ones are waited for. */
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

/** What an interrupted build left. The lock makes sure that they are nobody's. */
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

function readIfThere(file) {
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
