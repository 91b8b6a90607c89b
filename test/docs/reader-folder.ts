/** The working folder of a reader: files that a page shows, clips that it mentions, or a workspace. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stringify } from "yaml";
import { digestBytes } from "../../models/files.ts";
import { COCO } from "../../models/labels.ts";
import { makeYolox } from "../../models/onnx.fixture.ts";
import { buildElementPackage, isElementPackageBuilt } from "../../setup/element-package.mjs";
import { fileOf, type Page, ROOT } from "./pages.ts";

/** Graphs are saved under their names. */
export function saveFiles(page: Page, folder: string): void {
  for (const block of page.blocks) {
    const name = fileOf(block) ?? nameOfYaml(block.remark, block.text);
    if (name === null || block.language !== "yaml") continue;
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), block.text);
  }
}

function nameOfYaml(remark: string | null, text: string): string | null {
  if (remark === "config") return "windhover.yaml";
  if (remark === "alerts") return "alerts.yaml";
  const graph = /^graph: (\S+)$/m.exec(text)?.[1];
  return graph === undefined ? null : `${graph}.yaml`;
}

/** Files that pages mention but do not show: clips, telemetry, ground truth, a network and a model card. */
export function addFiles(clip: string, folder: string): void {
  for (const name of ["clip.mp4", "flight.mp4", "vtest.avi"]) copyFileSync(clip, join(folder, name));
  const view = { sensor_hfov: 60, sensor_vfov: 34, camera_yaw: 0, camera_pitch: -30, camera_roll: 0 };
  const flight = { timestamp: 0, latitude: 50, longitude: 8, altitude: 100, ...view };
  writeFileSync(join(folder, "flight.ndjson"), `${JSON.stringify(flight)}\n`);
  writeFileSync(join(folder, "gt.txt"), "1,1,100,50,40,80,1\n");
  const network = makeYolox(3);
  writeFileSync(join(folder, "best.onnx"), network);
  writeFileSync(join(folder, "my-card.yaml"), stringify(cardOf("mine", network, ["one", "two", "three"])));
}

/**
 * A cache with links to the models and the registry of another one; imported models do not change the other one. Its
 * models `default` and `aerial` detect nothing, which is fast: these tests are not about detections.
 */
export function shadowCache(cache: string, folder: string): void {
  for (const place of ["models/weights", "models/converted", "registry"]) {
    const there = join(cache, place);
    mkdirSync(join(folder, place), { recursive: true });
    for (const name of existsSync(there) ? readdirSync(there) : [])
      symlinkSync(join(there, name), join(folder, place, name));
  }
  const network = makeYolox(COCO.length);
  mkdirSync(join(folder, "models/cards"));
  for (const name of ["default", "aerial"])
    writeFileSync(join(folder, `models/cards/${name}.yaml`), stringify(cardOf(name, network, "coco")));
  writeFileSync(join(folder, "models/weights", `${digestBytes(network)}.onnx`), network);
}

const cardOf = (model: string, network: Uint8Array, labels: "coco" | readonly string[]) => ({
  model,
  about: "Detects nothing.",
  licence: "MIT",
  sources: [{ path: "best.onnx" }],
  sha256: digestBytes(network),
  bytes: network.length,
  input: { width: 64, height: 64 },
  labels,
  decoder: { family: "yolox" },
});

/** Adds the files of a page to a workspace, and the packages of this checkout. Resolves with the paths of the files. */
export async function fillWorkspace(page: Page, folder: string): Promise<readonly string[]> {
  if (!isElementPackageBuilt()) await buildElementPackage();
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@windhover"), { recursive: true });
  symlinkSync(join(ROOT, "build/element"), join(modules, "@windhover/element"));
  for (const name of ["@types", "tsx", "typescript"])
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  const files = page.blocks.flatMap((block) => {
    const file = fileOf(block);
    return file === null ? [] : [{ file, text: block.text }];
  });
  for (const { file, text } of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  return files.map(({ file }) => file);
}
