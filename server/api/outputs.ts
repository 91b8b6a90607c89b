/** Outputs: registered first, attached to a process later. */
import { NewOutput, OutputListing, OutputRecord } from "../../schemas/api/outputs.ts";
import { Deleted, PageQuery } from "../../schemas/api/records.ts";
import type { Config } from "../../schemas/config.ts";
import { describeOutput, findState, type LiveProcesses, type OutputHub } from "../outputs/describe-output.ts";
import { registerNewOutput } from "../outputs/register-output.ts";
import type { Sql } from "../store/client.ts";
import { deleteOutput, findOutput, listOutputs, type OutputRow } from "../store/outputs.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";

interface OutputNeeds {
  readonly sql: Sql;
  readonly config: Config;
  readonly hub: OutputHub;
  readonly processes: LiveProcesses;
}

const tag = "Outputs";
const access = "key";

export function outputEndpoints({ sql, config, hub, processes }: OutputNeeds): readonly AnyEndpoint[] {
  const describe = (output: OutputRow, call: { readonly user: User; readonly publicUrl: string }) =>
    describeOutput(output, call.user.username, call.publicUrl, hub, findState(processes, output));
  return [
    defineEndpoint({
      method: "POST",
      path: "/output",
      tag,
      id: "registerOutput",
      summary: "Registers an output",
      description: "One with the same type, url and settings as an output of yours is not registered again.",
      access,
      body: NewOutput,
      answers: {
        200: { description: "There is one like it: this.", schema: OutputRecord },
        201: { description: "Registered.", schema: OutputRecord },
      },
      errors: ["outputs_limit_reached", "address_refused", "path_in_use"],
      async handle(call) {
        const { output, isNew } = await registerNewOutput({ sql, config }, call.user, call.body);
        return { status: isNew ? 201 : 200, body: describe(output, call) };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/outputs",
      tag,
      id: "listOutputs",
      summary: "Lists your outputs",
      access,
      query: PageQuery,
      answers: { 200: { description: "Newest first.", schema: OutputListing } },
      errors: [],
      async handle(call) {
        const { rows, nextCursor } = await listOutputs(sql, call.user.uuid, call.query);
        const outputs = rows.map((row) => describe(row, call));
        return { status: 200, body: { outputs, ...(nextCursor !== null && { next_cursor: nextCursor }) } };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/output/{output_uuid}",
      tag,
      id: "readOutput",
      summary: "Shows an output",
      access,
      answers: { 200: { description: "The output.", schema: OutputRecord } },
      errors: ["output_not_found"],
      async handle(call) {
        const output = await findOutput(sql, call.user.uuid, call.params.output_uuid ?? "");
        return { status: 200, body: describe(output, call) };
      },
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/output/{output_uuid}",
      tag,
      id: "deleteOutput",
      summary: "Removes an output that is not attached",
      access,
      answers: { 200: { description: "It is gone.", schema: Deleted } },
      errors: ["output_not_found", "output_in_use"],
      async handle({ user, params }) {
        const uuid = params.output_uuid ?? "";
        await deleteOutput(sql, user.uuid, uuid);
        return { status: 200, body: { deleted: true, uuid } };
      },
    }),
  ];
}
