/** Outputs: registered first, attached to a process later. */
import { NewOutput, OutputChange, OutputListing, OutputQuery, OutputRecord } from "../../schemas/api/outputs.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { Config } from "../../schemas/config.ts";
import { describeOutput, findState, type OutputHub } from "../outputs/describe-output.ts";
import { changeOutput, registerNewOutput } from "../outputs/register-output.ts";
import type { LiveProcesses } from "../processes/view.ts";
import type { Sql } from "../store/client.ts";
import { deleteOutput, findOutput, listOutputs, type OutputRow } from "../store/outputs.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoints, deleted, listing, ok } from "./endpoint.ts";

interface OutputDeps {
  readonly sql: Sql;
  readonly config: Config;
  readonly hub: OutputHub;
  readonly processes: LiveProcesses;
}

const define = defineEndpoints("Outputs");

export function outputEndpoints({ sql, config, hub, processes }: OutputDeps): readonly AnyEndpoint[] {
  type Caller = { readonly user: User; readonly publicUrl: string };
  const describeAll = async (outputs: readonly OutputRow[], { user, publicUrl }: Caller) => {
    const views = await processes.views(outputs.flatMap(({ attachedTo }) => attachedTo ?? []));
    return outputs.map((row) => describeOutput(row, user.username, publicUrl, hub, findState(views, row)));
  };
  const describe = async (output: OutputRow, call: Caller) => (await describeAll([output], call))[0];
  return [
    define("POST", "/output", "registerOutput", {
      summary: "Register an output",
      description: "If you already have an output with the same type, URL and settings, that output is returned.",
      body: NewOutput,
      answers: {
        200: { description: "The identical output that you already have.", schema: OutputRecord },
        201: { description: "Registered.", schema: OutputRecord },
      },
      errors: ["outputs_limit_reached", "address_refused", "path_in_use"],
      async handle(call) {
        const { output, isNew } = await registerNewOutput({ sql, config }, call.user, call.body);
        return { status: isNew ? 201 : 200, body: await describe(output, call) };
      },
    }),
    define("GET", "/outputs", "listOutputs", {
      summary: "List your outputs",
      sources: "listed",
      query: OutputQuery,
      answers: { 200: { description: "Newest first.", schema: OutputListing } },
      async handle(call) {
        const { process_uuid: processUuid, ...rest } = call.query;
        const { rows, nextCursor } = await listOutputs(sql, call.user.uuid, { ...rest, processUuid });
        return listing("outputs", { rows: await describeAll(rows, call), nextCursor });
      },
    }),
    define("GET", "/output/{output_uuid}", "readOutput", {
      summary: "Get an output",
      answers: { 200: { description: "The output.", schema: OutputRecord } },
      errors: ["output_not_found"],
      handle: async (call) => ok(await describe(await findOutput(sql, call.user.uuid, call.params.output_uuid), call)),
    }),
    define("PATCH", "/output/{output_uuid}", "changeOutput", {
      summary: "Change the alias, URL or video settings of an output",
      description:
        "Omitted fields keep their values. While the output is attached to a process, only its alias can be changed.",
      body: OutputChange,
      answers: { 200: { description: "The changed output.", schema: OutputRecord } },
      errors: ["output_not_found", "output_in_use", "output_exists", "address_refused", "path_in_use"],
      async handle(call) {
        const { user, params, body } = call;
        return ok(await describe(await changeOutput({ sql, config }, user, params.output_uuid, body), call));
      },
    }),
    define("DELETE", "/output/{output_uuid}", "deleteOutput", {
      summary: "Delete an output that is not attached",
      answers: { 200: { description: "Deleted.", schema: Deleted } },
      errors: ["output_not_found", "output_in_use"],
      async handle({ user, params: { output_uuid: uuid } }) {
        await deleteOutput(sql, user.uuid, uuid);
        return deleted(uuid);
      },
    }),
  ];
}
