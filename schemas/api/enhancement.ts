/** Enhancement of track reports: the work, and how far it is. */
import { Type } from "typebox";
import { Uuid } from "./records.ts";

export const ENHANCEMENT_STATUSES = ["RUNNING", "FINISHED", "FAILED"] as const;
export type EnhancementStatus = (typeof ENHANCEMENT_STATUSES)[number];

export const EnhancementStarted = Type.Object({ process_uuid: Uuid }, { title: "EnhancementStarted" });

export const EnhancementState = Type.Object(
  {
    status: Type.Enum([...ENHANCEMENT_STATUSES]),
    progress: Type.Number({ minimum: 0, maximum: 1, description: "How much of the tracks is done." }),
    detail: Type.String({ description: "`120 of 400 tracks`; of FAILED: why." }),
  },
  { title: "EnhancementState" },
);
