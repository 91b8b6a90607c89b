/** Processes: started on a source, watched, paused, stopped; outputs attached to them. */
import { OutputRecord } from "../../schemas/api/outputs.ts";
import {
  ProcessListing,
  ProcessQuery,
  ProcessRecord,
  StartBody,
  StartedProcess,
  StartQuery,
  StoppedProcesses,
} from "../../schemas/api/processes.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { ErrorCode } from "../../schemas/errors.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { ProcessRecordings } from "../media/recordings/recording-files.ts";
import { describeOutput, findState, type OutputHub } from "../outputs/describe-output.ts";
import type { Processes } from "../processes/processes.ts";
import { describeProcess, describeStarted, type LiveProcess } from "../processes/view.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findOutput } from "../store/outputs.ts";
import { findProcess, listProcesses, type ProcessView } from "../store/processes.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoint, type Endpoint, type JsonAnswer } from "./endpoint.ts";
import { describeFiles } from "./recordings.ts";

export interface ProcessNeeds {
  readonly sql: Sql;
  readonly processes: Processes & { view(uuid: string): LiveProcess | null };
  readonly hub: OutputHub;
  readonly recordings: Pick<ProcessRecordings, "list">;
}

const tag = "Process";
const access = "key";

export function processEndpoints({ sql, processes, hub, recordings }: ProcessNeeds): readonly AnyEndpoint[] {
  const show = async (row: ProcessView, user: User, publicUrl: string): Promise<ProcessRecord> => {
    const files = user.hasRecording ? await recordings.list(row.uuid) : [];
    const shown = describeFiles(files, row.uuid, hub.signer, publicUrl);
    return describeProcess(row, processes.view(row.uuid), shown, user.isOperator);
  };
  const describe = async (user: User, uuid: string, publicUrl: string): Promise<JsonAnswer> => {
    const row = await findProcess(sql, user.uuid, uuid);
    if (row === null)
      throw new ServiceError("process_not_found", {
        detail: `there is no process ${uuid}; GET /processes?state=all lists yours`,
      });
    return { status: 200, body: await show(row, user, publicUrl) };
  };
  return [
    defineEndpoint({
      method: "POST",
      path: "/start",
      tag,
      id: "startProcess",
      summary: "Starts a process on a source",
      description:
        "Answers when the first frame of the source has been decoded, or within 5 seconds that there is none (400) or that this machine is too busy to start it now (503 with `Retry-After`). A start that fails, or whose client has gone before it was answered, leaves no process.",
      access,
      query: StartQuery,
      body: StartBody,
      isBodyOptional: true,
      answers: { 201: { description: "It runs.", schema: StartedProcess } },
      errors: START_ERRORS,
      async handle({ user, query, body, publicUrl, headers, startedMs, signal }) {
        const { source_uuid: sourceUuid, graph = "detect" } = query;
        // Every value is JSON: it was read from some.
        const params = (body.params ?? {}) as JsonRecord;
        const order = { user, sourceUuid, graph, params, requestedMs: startedMs, signal };
        const { uuid, telemetry, times = {} } = await processes.start(order);
        const apiKey = headers.get("api_key") ?? "";
        const timing = Object.entries(times).map(([part, ms]) => `${part};dur=${ms}`);
        return {
          status: 201,
          body: describeStarted(uuid, telemetry, { publicUrl, apiKey }),
          headers: { "server-timing": timing.join(", ") },
        };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/processes",
      tag,
      id: "listProcesses",
      summary: "Lists your processes",
      description: "Those that are active; with `state=all` those that have finished or failed too.",
      access,
      query: ProcessQuery,
      answers: { 200: { description: "Newest first.", schema: ProcessListing } },
      errors: [],
      async handle({ user, query, publicUrl }) {
        const { rows, nextCursor } = await listProcesses(sql, user.uuid, {
          ...query,
          withEnded: query.state === "all",
        });
        const listed: ProcessRecord[] = [];
        for (const row of rows) listed.push(await show(row, user, publicUrl));
        return { status: 200, body: { processes: listed, ...(nextCursor !== null && { next_cursor: nextCursor }) } };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/process/{process_uuid}",
      tag,
      id: "readProcess",
      summary: "Shows a process",
      access,
      answers: { 200: { description: "The process.", schema: ProcessRecord } },
      errors: ["process_not_found"],
      handle: ({ user, params, publicUrl }) => describe(user, params.process_uuid ?? "", publicUrl),
    }),
    defineEndpoint({
      method: "POST",
      path: "/process/{process_uuid}/pause",
      tag,
      id: "pauseProcess",
      summary: "Pauses a process",
      description: "Sockets and outputs stay, nothing flows, minutes do not count. The limit of processes does.",
      access,
      answers: { 200: { description: "It is paused.", schema: ProcessRecord } },
      errors: ["process_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid = "" }, publicUrl }) {
        await processes.pause(user, uuid);
        return describe(user, uuid, publicUrl);
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/process/{process_uuid}/resume",
      tag,
      id: "resumeProcess",
      summary: "Resumes a paused process",
      description: "A file goes on where it stopped, a live source with what is live now.",
      access,
      answers: { 200: { description: "It runs.", schema: ProcessRecord } },
      errors: ["process_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid = "" }, publicUrl }) {
        await processes.resume(user, uuid);
        return describe(user, uuid, publicUrl);
      },
    }),
    ...withOld(
      {
        method: "DELETE",
        path: "/process/{process_uuid}",
        tag,
        id: "stopProcess",
        summary: "Stops a process",
        description:
          "Answers when it is gone. What has ended already is gone. One that another machine runs is stopped there.",
        access,
        answers: { 200: { description: "It is gone.", schema: Deleted } },
        errors: ["process_not_found", "wrong_state"],
        async handle({ user, params: { process_uuid: uuid = "" } }) {
          await processes.stop(user, uuid);
          return { status: 200, body: { deleted: true, uuid } };
        },
      },
      "/process/{process_uuid}/stop",
    ),
    ...withOld(
      {
        method: "DELETE",
        path: "/processes",
        tag,
        id: "stopProcesses",
        summary: "Stops all of your processes",
        description: "Answers when all of them are gone.",
        access,
        answers: { 200: { description: "They are gone.", schema: StoppedProcesses } },
        errors: [],
        handle: async ({ user }) => ({ status: 200, body: { stopped: await processes.stopAll(user) } }),
      },
      "/process/stop_all",
    ),
    defineEndpoint({
      method: "POST",
      path: "/process/{process_uuid}/{output_uuid}",
      tag: "Outputs",
      id: "attachOutput",
      summary: "Attaches an output to a process",
      description: "An output is attached to one active process at a time. Attaching it there again changes nothing.",
      access,
      answers: { 200: { description: "It is attached.", schema: OutputRecord } },
      errors: [
        ...([
          "process_not_found",
          "output_not_found",
          "wrong_state",
          "output_in_use",
          "path_in_use",
          "outputs_limit_reached",
        ] as const),
        ...(["graph_lacks", "pipeline_failed", "address_refused"] as const),
      ],
      async handle({ user, params: { process_uuid: uuid = "", output_uuid: outputUuid = "" }, publicUrl }) {
        await processes.attach(user, uuid, outputUuid);
        const output = await findOutput(sql, user.uuid, outputUuid);
        const state = findState(processes, output);
        return { status: 200, body: describeOutput(output, user.username, publicUrl, hub, state) };
      },
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/process/{process_uuid}/{output_uuid}",
      tag: "Outputs",
      id: "detachOutput",
      summary: "Detaches an output from a process",
      description: "The output stays registered.",
      access,
      answers: { 200: { description: "It is detached.", schema: Deleted } },
      errors: ["process_not_found", "output_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid = "", output_uuid: outputUuid = "" } }) {
        await processes.detach(user, uuid, outputUuid);
        return { status: 200, body: { deleted: true, uuid: outputUuid } };
      },
    }),
  ];
}

/** The endpoint, and the `POST` that did the same before it. */
const withOld = (endpoint: Endpoint<"key">, path: string): readonly AnyEndpoint[] => [
  defineEndpoint(endpoint),
  defineEndpoint({
    ...endpoint,
    method: "POST",
    path,
    id: `${endpoint.id}Old`,
    description: `Use \`${endpoint.method} ${endpoint.path}\`.`,
    isDeprecated: true,
  }),
];

export const START_ERRORS: readonly ErrorCode[] = [
  ...(["source_not_live", "processes_limit_reached", "usage_limit_reached"] as const),
  ...(["source_not_found", "source_file_missing", "graph_not_found", "address_refused"] as const),
  ...(["wrong_state", "pipeline_failed"] as const),
];
