/** Slots that a graph has beyond those that outputs use: attached to a running process, and detached. */
import { BranchListing, BranchRecord, NewBranch } from "../../schemas/api/outputs.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { describeState } from "../outputs/describe-output.ts";
import type { BranchState } from "../processes/process-branches.ts";
import type { Processes } from "../processes/processes.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";

interface BranchNeeds {
  readonly processes: Pick<Processes, "attachBranch" | "detachBranch" | "listBranches">;
}

const tag = "Graphs";
const access = "key";

export function branchEndpoints({ processes }: BranchNeeds): readonly AnyEndpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/process/{process_uuid}/branches",
      tag,
      id: "listBranches",
      summary: "Lists the attached branches of a process, and the slots that can be attached",
      access,
      answers: { 200: { description: "Of a process that is active.", schema: BranchListing } },
      errors: ["process_not_found", "wrong_state"],
      async handle({ user, params: { process_uuid: uuid = "" } }) {
        const { branches, slots } = await processes.listBranches(user, uuid);
        return { status: 200, body: { branches: branches.map((branch) => describeBranch(uuid, branch)), slots } };
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/process/{process_uuid}/branches",
      tag,
      id: "attachBranch",
      summary: "Attaches a slot of the graph to a running process",
      description:
        "Any number of times, each with its own params. Branches count as active outputs of the key. They are attached again whenever the process is started again. Slots that the service attaches itself (`feed`, `view`, `recording`, and `rtsp`, `rtmp`, `cot` for outputs) are not for this, and params that name something on the server cannot be set.",
      access,
      body: NewBranch,
      answers: { 201: { description: "It is attached.", schema: BranchRecord } },
      errors: ["process_not_found", "wrong_state", "graph_lacks", "outputs_limit_reached", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid = "" }, body }) {
        const { slot, params = {} } = body;
        const branch = await processes.attachBranch(user, uuid, { slot, params: params as JsonRecord });
        return { status: 201, body: describeBranch(uuid, branch) };
      },
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/process/{process_uuid}/branches/{branch_uuid}",
      tag,
      id: "detachBranch",
      summary: "Detaches a branch from a process",
      description: "Answers when it is gone: what it writes is complete.",
      access,
      answers: { 200: { description: "It is detached.", schema: Deleted } },
      errors: ["process_not_found", "branch_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid = "", branch_uuid: branchUuid = "" } }) {
        await processes.detachBranch(user, uuid, branchUuid);
        return { status: 200, body: { deleted: true, uuid: branchUuid } };
      },
    }),
  ];
}

const describeBranch = (processUuid: string, branch: BranchState): BranchRecord => ({
  uuid: branch.uuid,
  branch_uuid: branch.uuid,
  process_uuid: processUuid,
  slot: branch.slot,
  params: hideSecrets(branch.params),
  attached_at: branch.attachedAt.toISOString(),
  ...describeState(branch),
});

const hideSecrets = (params: JsonRecord): JsonRecord =>
  JSON.parse(JSON.stringify(params, (_, value) => (typeof value === "string" ? maskCredentials(value) : value)));
