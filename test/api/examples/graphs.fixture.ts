/** Examples of the tag Graphs. */

import { makeYolox } from "../../../models/onnx.fixture.ts";
import type { ProcessGraph } from "../../../schemas/api/graphs.ts";
import type { BranchRecord } from "../../../schemas/api/outputs.ts";
import type { StartedProcess } from "../../../schemas/api/processes.ts";
import type { ExampleRun } from "./example-run.fixture.ts";
import type { Ids } from "./world.fixture.ts";

const YAML = "application/yaml";
const graph = (about: string, every: number): string => `graph: gate
about: ${about}
extends: detect
params:
  every: { type: integer, minimum: 1, default: ${every} }
slots:
  preview:
    about: Frames for a preview.
    chain: [{ from: frames }, stage, fakesink]
tests:
  ball: { clip: "test:ball?frames=20", expect: { frames: 20 } }
`;
const CARD = `model: three-things
about: Cats, dogs and foxes.
licence: MIT
input: { width: 64, height: 64, colours: bgr, anchor: top-left }
labels: [cat, dog, fox]
decoder: { family: yolox }
`;

export async function callGraphs(run: ExampleRun, { video }: Ids): Promise<void> {
  await run.call("listElements", 200, { query: { find: "track" } });
  await run.call("getElement", 200, { params: { name: "track" } });

  const params = { name: "gate" };
  const first = graph("Counts who comes in.", 500);
  await run.call("validateGraph", 200, { text: [first, YAML] });
  await run.call("storeGraph", 201, { params, text: [first, YAML] });
  await run.call("listGraphs", 200, { query: { origin: "own" } });
  await run.call("getGraph", 200, { params });
  await run.call("testGraph", 200, { params, json: { only: ["ball"] } });
  const { process_uuid } = await run.service.expect<StartedProcess>(
    201,
    "POST",
    `/start?source_uuid=${video}&graph=gate`,
    {
      key: run.key,
      json: {},
    },
  );
  await callBranches(run, process_uuid);
  const body = graph("Counts who comes in and out.", 500);
  const headers = { "Content-Type": YAML };
  await run.service.expect(201, "PUT", "/graphs/gate", { key: run.key, body, headers });
  await run.call("listGraphVersions", 200, { params });
  await run.call("getGraphVersion", 200, { params: { ...params, version: "2" } });
  await run.call("upgradeProcessGraph", 200, { params: { process_uuid }, json: { version: 2, dry_run: true } });
  await run.call("stopProcesses", 200);
  await run.call("deleteGraph", 200, { params });

  const tried = "graph: tried\nchains:\n  main: [source, decode, stage, fakesink]\n";
  const { process_uuid: trial } = await run.call<StartedProcess>("tryGraph", 201, {
    json: { yaml: tried, source_uuid: video },
  });
  await run.call("stopProcessOld", 200, { params: { process_uuid: trial } });
  await callModels(run);
}

export async function callRunningGraph(run: ExampleRun, { process: process_uuid }: Ids): Promise<void> {
  const params = { process_uuid };
  const { segments } = await run.call<ProcessGraph>("getProcessGraph", 200, { params });
  const raw = segments.flatMap(({ links }) => links).find(({ from }) => from.startsWith("track"));
  const { from, to } = raw ?? segments[0]?.links.at(-1) ?? { from: "", to: "" };
  await run.call("getProcessGraphEdge", 200, { params, query: { from, to } });
  await run.call("setProcessGraph", 200, { params, json: { params: { confidence: 0.4 } } });
}

async function callBranches(run: ExampleRun, process_uuid: string): Promise<void> {
  const params = { process_uuid };
  const { uuid: branch_uuid } = await run.call<BranchRecord>("attachBranch", 201, {
    params,
    json: { slot: "preview" },
  });
  await run.call("listBranches", 200, { params });
  await run.call("detachBranch", 200, { params: { process_uuid, branch_uuid } });
}

async function callModels(run: ExampleRun): Promise<void> {
  await run.call("uploadModel", 201, {
    form: { file: [makeYolox(3), "three-things.onnx"], card: [CARD, "card.yaml"] },
  });
  await run.call("listModels", 200, { query: { origin: "own" } });
  await run.call("deleteModel", 200, { params: { name: "three-things" } });
}
