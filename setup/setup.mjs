/**
 * Prepares a checkout so that the service can start; does nothing when everything is up to date. Plain JavaScript without
 * dependencies: it runs before they are installed.
 *
 *   node setup/setup.mjs [--quiet] [--tests]     --quiet: no output when everything is up to date
 *                                                --tests: also installs and makes what only the tests need
 */
import { fileURLToPath } from "node:url";
import { checkNodeVersion } from "./node-version.mjs";

const node = checkNodeVersion(process.version);
if (node.message !== null) console.error(node.message);
if (!node.usable) process.exit(1);

// After the check: an old Node may not be able to parse these modules.
const { buildAddon, isAddonFresh } = await import("./build-addon.mjs");
const { CommandFailure, endCommandsOnSignal, isInterrupted } = await import("./command.mjs");
const { withLock } = await import("./lock.mjs");
const { buildBundle, isBundled } = await import("./bundle.mjs");
const { buildConsole, isConsoleBuilt } = await import("./console.mjs");
const { buildElementPackage, isElementPackageBuilt } = await import("./element-package.mjs");
const models = await import("./models.mjs");
const modules = await import("./node-modules.mjs");
const { inspectSystem, installPackages } = await import("./packages.mjs");
const { isRegistryWarm, warmRegistry } = await import("./plugin-registry.mjs");
const { showSteps } = await import("./progress.mjs");
const { isTestDataReady, prepareTestData } = await import("./test-data.mjs");

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SHOWN_LINES = 20;
const PURPOSE = { forTests: process.argv.includes("--tests") };

/**
 * Stages run one after another; the lanes of a stage run concurrently, the steps of a lane one after another. `isDone` is
 * fast; `work` is slow and may return a warning.
 */
const STAGES = [
  [
    [
      {
        title: "Debian packages",
        isDone: () => inspectSystem(PURPOSE).missing.length === 0,
        work: (onProgress) =>
          installPackages(inspectSystem(PURPOSE).missing, { onProgress, isHasty: PURPOSE.forTests }),
      },
    ],
    [
      {
        title: "Node packages",
        isDone: () => modules.areModulesFresh(ROOT),
        work: (onProgress) => modules.installModules(ROOT, { onProgress }),
      },
      {
        title: "windhover command",
        isDone: () => modules.isCommandLinked(ROOT),
        work: () => modules.linkCommand(ROOT),
      },
      {
        title: "bundle of the programs",
        isDone: () => isBundled(),
        work: () => buildBundle(),
      },
      {
        title: "console",
        isDone: () => isConsoleBuilt(),
        work: () => buildConsole(),
      },
      {
        title: "element package",
        isDone: () => isElementPackageBuilt(),
        work: () => buildElementPackage(),
      },
      {
        title: "models",
        isDone: () => models.areModelsInstalled(ROOT),
        work: (onProgress) => models.installModels(ROOT, { onProgress }),
      },
    ],
  ],
  [
    [
      {
        title: "GStreamer addon",
        isDone: () => isAddonFresh(),
        work: (onProgress) => buildAddon({ onProgress }),
      },
      {
        title: "plugin registry",
        isDone: () => isRegistryWarm(ROOT, inspectSystem().versions),
        work: () => warmRegistry(ROOT, inspectSystem().versions),
      },
    ],
  ],
];

if (PURPOSE.forTests) {
  STAGES.push([
    [
      {
        title: "test data",
        isDone: () => isTestDataReady(ROOT),
        work: (onProgress) => prepareTestData(ROOT, { onProgress }),
      },
    ],
  ]);
}

async function setUp() {
  for (const lanes of STAGES) {
    const outcomes = await showSteps((show) => Promise.allSettled(lanes.map((steps) => runLane(steps, show))));
    // After all lanes have ended, so that none is interrupted.
    const failed = outcomes.find(({ status }) => status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

async function runLane(steps, show) {
  for (const { title, isDone, work } of steps) {
    if (isDone()) continue;
    const note = await show(title, async (onProgress) => work(onProgress));
    if (typeof note === "string") console.warn(note);
  }
}

function explain(error) {
  if (isInterrupted()) return "Interrupted; run it again to continue.";
  if (!(error instanceof CommandFailure)) return error.message;
  const tail = error.lines.slice(-SHOWN_LINES).map((line) => `  | ${line}`);
  return [`This command ${error.reason}:`, `  ${error.command}`, ...tail].join("\n");
}

endCommandsOnSignal();
try {
  if (STAGES.flat(2).every(({ isDone }) => isDone())) {
    if (!process.argv.includes("--quiet")) console.log("✓ everything is set up");
  } else {
    const onWait = () => console.log("waiting for another set-up of this checkout to finish");
    await withLock(ROOT, setUp, { onWait });
  }
} catch (error) {
  console.error(`\nThe set-up failed.\n${explain(error)}`);
  process.exitCode = 1;
}
