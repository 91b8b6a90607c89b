/**
 * Time from the save of an element's file to the first frame with its new code under `run --watch`, and from a new start of
 * the run to its first frame, in turn. Run in its own process. Prints medians in ms.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { COMMAND, median, withFolder } from "../harness.ts";

const SAVES = 3;
const FIRST_FRAME_LIMIT_MS = 60_000;
const SOURCE = "test:ball?width=64&height=48&fps=100";

const elementOf = (version: number): string => `import { defineElement, Type } from "@windhover/element";

export default defineElement({
  kind: "transform",
  name: "mark",
  about: "Writes its version.",
  example: "",
  properties: Type.Object({}),
  writes: ["version"],
  caps: "ANY",
  create: () => ({ process: (frame) => frame.write({ version: ${version} }) }),
});
`;

interface Run {
  readonly child: ChildProcess;
  readonly lines: Interface;
}

function start(folder: string, ...options: readonly string[]): Run {
  const args = [COMMAND, "run", "graphs/scene.yaml", SOURCE, "--pace", "realtime", "--quiet", ...options];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  return { child, lines: createInterface({ input: child.stdout }) };
}

/** Resolves with the time of the first line with the version. */
function untilVersion({ child, lines }: Run, version: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      lines.off("line", read);
      child.off("exit", fail);
      settle();
    };
    const read = (line: string) => {
      const nowMs = performance.now();
      if ((JSON.parse(line) as { version: number }).version === version) finish(() => resolve(nowMs));
    };
    const fail = () => finish(() => reject(new Error(`no frame with version ${version}`)));
    const timer = setTimeout(fail, FIRST_FRAME_LIMIT_MS);
    lines.on("line", read);
    child.on("exit", fail);
  });
}

async function stop({ child }: Run): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGINT");
  await ended;
}

await withFolder(async (folder) => {
  const file = join(folder, "elements/mark/mark.ts");
  await mkdir(join(folder, "elements/mark"), { recursive: true });
  await mkdir(join(folder, "graphs"));
  await writeFile(join(folder, "windhover.yaml"), "graphs: { folders: [graphs] }\nelements: { folders: [elements] }\n");
  await writeFile(
    join(folder, "graphs/scene.yaml"),
    "graph: scene\nchains: { main: [source, decode, mark, { print: { keys: [version] } }] }\n",
  );
  await writeFile(file, elementOf(0));
  const watched = start(folder, "--watch");
  const saves: number[] = [];
  const restarts: number[] = [];
  try {
    await untilVersion(watched, 0);
    for (let version = 1; version <= SAVES; version++) {
      const savedMs = performance.now();
      await writeFile(file, elementOf(version));
      saves.push((await untilVersion(watched, version)) - savedMs);
      const startedMs = performance.now();
      const restarted = start(folder);
      restarts.push((await untilVersion(restarted, version)) - startedMs);
      await stop(restarted);
    }
  } finally {
    await stop(watched);
  }
  console.log(JSON.stringify({ measured: median(saves), peer: median(restarts) }));
});
