/** What a recording is made from: named so that another machine can tell whether it has the same. */
import { basename, isAbsolute, relative } from "node:path";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { digestFile } from "../../models/digest.ts";
import { ModelFault } from "../../models/fault.ts";
import { findCard } from "../../models/find-card.ts";
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
    golden: 1,
    windhover: readVersion(),
    machine: process.arch,
    graph: plan.graph,
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, shorten(value)])),
    frames,
    clip: { name: basename(clip), sha256: await digestFile(clip) },
    models: listModels(plan),
  };
}

/** A path of this machine means nothing on another: it is written as seen from here. */
const shorten = (value: Json): Json =>
  typeof value === "string" && isAbsolute(value) ? relative(process.cwd(), value) : value;

const LOOKING = "detect";

function listModels(plan: GraphPlan): RecordedModel[] {
  const nodes = [plan.main, ...plan.branches].flatMap((segment) => segment.nodes);
  return nodes
    .filter(({ element }) => element === LOOKING)
    .map(({ author, properties: { model, confidence, weak } }) => {
      const { card } = find(typeof model === "string" ? model : "default");
      return {
        node: author,
        name: card.model,
        sha256: card.sha256,
        confidence: typeof confidence === "number" ? confidence : card.thresholds.confidence,
        weak: typeof weak === "number" ? weak : card.thresholds.weak,
      };
    });
}

function find(model: string) {
  try {
    return findCard(model);
  } catch (error) {
    throw error instanceof ModelFault ? new CommandFailure(error.message, { cause: error }) : error;
  }
}

/** One sentence for everything that is not what the golden was recorded from. */
export function compareOrigins(was: GoldenHeader, is: GoldenHeader): readonly string[] {
  const said: string[] = [];
  if (was.graph !== is.graph) said.push(`the golden is of the graph "${was.graph}", this is "${is.graph}"`);
  if (was.machine !== is.machine)
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
    else if (now.name !== model.name)
      said.push(`"${model.node}" looks with "${now.name}", and did with "${model.name}"`);
    else if (now.sha256 !== model.sha256)
      said.push(
        `the model "${model.name}" is not the one that was recorded: its weights had the sha256 ${short(model.sha256)}, they have ${short(now.sha256)}`,
      );
  }
  return said;
}

const short = (sha256: string): string => `${sha256.slice(0, 12)}…`;
