/** Slots of a graph, attached to a running process. */
import { type Static, Type } from "typebox";
import { OUTPUT_STATUSES, OutputProgress } from "./outputs.ts";
import { Timestamp, Uuid } from "./records.ts";

const Params = Type.Record(Type.String(), Type.Unknown());

export const NewBranch = Type.Object(
  {
    slot: Type.String({ minLength: 1, maxLength: 128, description: "A slot of the graph that the process runs." }),
    params: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "Of the slot; `GET /process/{process_uuid}/branches` has their schema.",
      }),
    ),
  },
  { title: "NewBranch" },
);

export const BranchRecord = Type.Object(
  {
    uuid: Uuid,
    branch_uuid: Uuid,
    process_uuid: Uuid,
    slot: Type.String(),
    params: Type.Record(Type.String(), Type.Unknown(), {
      description: "As they were given. Credentials are shown as `***`.",
    }),
    attached_at: Timestamp,
    ...OutputProgress,
    status: Type.Enum([...OUTPUT_STATUSES], {
      description:
        "A branch that fails is taken out, and the process continues without it; it is attached again when the process is started again.",
    }),
  },
  { title: "Branch" },
);
export type BranchRecord = Static<typeof BranchRecord>;

export const BranchListing = Type.Object({
  branches: Type.Array(BranchRecord, { description: "In the order in which they were attached." }),
  slots: Type.Record(Type.String(), Params, {
    description: "Slots that can be attached, with the JSON Schema of their params.",
  }),
});
