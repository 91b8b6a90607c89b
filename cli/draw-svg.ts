/** A plan as a picture, by Graphviz. */
import { writeFile } from "node:fs/promises";
import type { GraphPlan } from "../graphs/compiler/plan.ts";
import { toDot } from "../graphs/compiler/plan-to-diagram.ts";
import { CommandFailure } from "./command.ts";

export async function writeSvg(plan: GraphPlan, file: string): Promise<void> {
  const { Graphviz } = await import("@hpcc-js/wasm-graphviz");
  const graphviz = await Graphviz.load();
  await writeText(file, graphviz.dot(toDot(plan)));
}

export async function writeText(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (cause) {
    throw new CommandFailure(`${file} cannot be written: ${(cause as Error).message}`, { cause });
  }
}
