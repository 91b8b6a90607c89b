/** Generated models for tests: no weights needed, with predictable detections. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ModelCard } from "../../models/card.ts";
import { GraphBuilder } from "../../models/onnx/graph.ts";
import type { Model } from "../../models/open.ts";

const WIDTH = 64;
const HEIGHT = 32;
const PIXELS = WIDTH * HEIGHT;

export function testModel(file: string, { labels = ["light"] }: { readonly labels?: string[] }): Model {
  const card: ModelCard = {
    model: "test",
    about: "Finds bright pixels.",
    licence: "none",
    sources: [{ path: file }],
    sha256: "0".repeat(64),
    input: {
      width: WIDTH,
      height: HEIGHT,
      type: "uint8",
      layout: "nhwc",
      colours: "rgb",
      fit: "letterbox",
      anchor: "top-left",
      padding: 0,
    },
    labels,
    decoder: { family: "efficientdet" },
    thresholds: { confidence: 0.4, weak: 0.1, overlap: 0.5 },
  };
  return { card, labels, file };
}

/** Every pixel is an object; its brightness is the confidence. `nonsense` divides 0 by 0; `work` makes it slower. */
export function makeLightModel({ nonsense = false, work = 0 } = {}): Model {
  const graph = new GraphBuilder();
  const images = graph.input("images", "uint8", [1, HEIGHT, WIDTH, 3]);
  let light = graph.node("Cast", [images], "numbers", { to: 1 });
  for (let turn = 0; turn < work; turn++) light = graph.node("Sin", [light], `sin-${turn}`);
  const numbers = work > 0 ? graph.node("Cast", [images], "again", { to: 1 }) : light;
  const grey = graph.node("ReduceMean", [numbers], "grey", { axes: [3], keepdims: 0 });
  const list = graph.node("Reshape", [grey, graph.integers("list", [1, PIXELS])], "flat");
  const scale = graph.scalar("scale", Float32Array.of(nonsense ? 0 : 255));
  const zero = graph.node("Mul", [list, graph.scalar("nothing", Float32Array.of(0))], "zero");
  graph.node("Div", [nonsense ? zero : list, scale], "scores");
  graph.node("Identity", [graph.constant("grid", listPixels(), [1, PIXELS, 4])], "boxes");
  graph.node("Identity", [graph.constant("lights", new Float32Array(PIXELS), [1, PIXELS])], "classes");
  graph.output("boxes", "float32", [1, PIXELS, 4]);
  graph.output("scores", "float32", [1, PIXELS]);
  graph.output("classes", "float32", [1, PIXELS]);
  if (work > 0) graph.output(light, "float32", [1, HEIGHT, WIDTH, 3]);
  const file = join(temporaryFolder(), "light.onnx");
  writeFileSync(file, graph.finish("light"));
  return testModel(file, {});
}

const listPixels = (): Float32Array =>
  Float32Array.from({ length: 4 * PIXELS }, (_, at) => {
    const pixel = at >> 2;
    const [left, top] = [pixel % WIDTH, Math.floor(pixel / WIDTH)];
    return [left, top, left + 1, top + 1][at & 3] ?? 0;
  });

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "windhover-detect-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
