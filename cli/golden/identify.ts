/** What a recording is made from: named so that another machine can tell whether it has the same. */
import { basename, isAbsolute, relative } from "node:path";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { ModelFault } from "../../models/fault.ts";
import { digestFile } from "../../models/files.ts";
import { type Model, openModel } from "../../models/open.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { CommandFailure } from "../command.ts";
import { readVersion } from "../version.ts";
import type { GoldenHeader, RecordedModel } from "./golden.ts";

export async function identify(
  plan: GraphPlan,
  clip: string,
  params: JsonRecord,
  frames: number | null,
): Promise<GoldenHeader> {
  return {
    golden: 2,
    windhover: readVersion(),
    machine: process.arch,
    graph: plan.graph,
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, shorten(value)])),
    frames,
    clip: { name: basename(clip), sha256: await digestFile(clip) },
    models: await listModels(plan),
  };
}

/** A path of this machine means nothing on another: it is written as seen from here. */
const shorten = (value: Json): Json =>
  typeof value === "string" && isAbsolute(value) ? relative(process.cwd(), value) : value;

const LOOKING = "detect";

async function listModels(plan: GraphPlan): Promise<RecordedModel[]> {
  const nodes = [plan.main, ...plan.branches].flatMap((segment) => segment.nodes);
  return Promise.all(
    nodes
      .filter(({ element }) => element === LOOKING)
      .map(async ({ author, properties: { model, confidence, weak } }) => {
        const { card, file } = await open(typeof model === "string" ? model : "default");
        return {
          node: author,
          name: card.model,
          sha256: card.sha256,
          network: await digestFile(file),
          confidence: typeof confidence === "number" ? confidence : card.thresholds.confidence,
          weak: typeof weak === "number" ? weak : card.thresholds.weak,
        };
      }),
  );
}

async function open(model: string): Promise<Model> {
  try {
    return await openModel(model);
  } catch (error) {
    throw error instanceof ModelFault ? new CommandFailure(error.message, { cause: error }) : error;
  }
}

/** One sentence for everything that is not what the golden was recorded from. */
export function compareOrigins(was: GoldenHeader, is: GoldenHeader): readonly string[] {
  const said: string[] = [];
  const isSameMachine = was.machine === is.machine;
  if (was.graph !== is.graph) said.push(`the golden is of the graph "${was.graph}", this is "${is.graph}"`);
  if (!isSameMachine)
    said.push(
      `the golden is of another kind of machine, ${was.machine}, which may round otherwise; this is ${is.machine}`,
    );
  if (was.clip.sha256 !== is.clip.sha256)
    said.push(
      `this is not the clip that was recorded: ${was.clip.name} had the sha256 ${short(was.clip.sha256)}, ${is.clip.name} has ${short(is.clip.sha256)}`,
    );
  for (const model of was.models) {
    const now = is.models.find(({ node }) => node === model.node);
    if (now === undefined) said.push(`"${model.node}", which looked with the model "${model.name}", is not there`);
    else said.push(...compareModels(model, now, isSameMachine));
  }
  for (const { node, name } of is.models)
    if (!was.models.some((model) => model.node === node))
      said.push(`"${node}" looks with "${name}", and did not before`);
  return said;
}

function compareModels(was: RecordedModel, is: RecordedModel, isSameMachine: boolean): readonly string[] {
  if (was.name !== is.name) return [`"${was.node}" looks with "${is.name}", and did with "${was.name}"`];
  const said: string[] = [];
  if (was.sha256 !== is.sha256)
    said.push(
      `the model "${was.name}" is not the one that was recorded: its weights had the sha256 ${short(was.sha256)}, they have ${short(is.sha256)}`,
    );
  else if (isSameMachine && was.network !== is.network)
    said.push(
      `the model "${was.name}" is converted otherwise: its ONNX had the sha256 ${short(was.network)}, it has ${short(is.network)}`,
    );
  for (const threshold of ["confidence", "weak"] as const)
    if (was[threshold] !== is[threshold])
      said.push(`"${was.node}" has the threshold ${threshold} ${is[threshold]}, and had ${was[threshold]}`);
  return said;
}

const short = (sha256: string): string => `${sha256.slice(0, 12)}…`;
