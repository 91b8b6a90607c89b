/** Evidence of alerts: a clip and a snapshot of what a notice is about. */
import { type Static, Type } from "typebox";
import { orNull, Timestamp } from "./records.ts";

export const EvidenceSetting = Type.Object(
  {
    clip: Type.Optional(
      Type.Object(
        {
          before_seconds: Type.Optional(
            Type.Number({
              minimum: 0,
              maximum: 60,
              default: 10,
              description: "Seconds before the frame of the notice.",
            }),
          ),
          after_seconds: Type.Optional(
            Type.Number({
              minimum: 0,
              maximum: 300,
              default: 5,
              description: "Seconds after the frame of the notice.",
            }),
          ),
          boxes: Type.Optional(Type.Boolean({ default: false, description: "Draw the boxes of the detections." })),
        },
        { additionalProperties: false, description: "A video clip." },
      ),
    ),
    snapshot: Type.Optional(Type.Boolean({ default: false, description: "A JPEG image of the frame." })),
  },
  {
    title: "Evidence",
    additionalProperties: false,
    description:
      "What is kept of each `triggered` or `updated` notice: a clip, cut out of the recording, the last seconds of a stream that is not recorded, or the file; and a snapshot.",
  },
);
export type EvidenceSetting = Static<typeof EvidenceSetting>;

export const EVIDENCE_STATES = ["pending", "ready", "partial", "failed", "skipped"] as const;
export type EvidenceState = (typeof EVIDENCE_STATES)[number];

export const MissingEvidence = Type.Object({
  part: Type.Enum(["clip", "boxes", "snapshot"]),
  reason: Type.String(),
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
});
export type MissingEvidence = Static<typeof MissingEvidence>;

export const EvidenceInfo = Type.Object(
  {
    state: Type.Enum([...EVIDENCE_STATES], {
      description:
        "`pending`: the clip is not complete yet. `ready`: all that was requested is there. `partial`: `missing` lists what is not. `failed`: nothing is. `skipped`: too much evidence of this key is waiting or kept.",
    }),
    missing: Type.Array(MissingEvidence, {
      description: "Parts that are missing, and the time ranges without video.",
    }),
    clip: orNull(
      Type.Object({
        from: Timestamp,
        to: Timestamp,
        size_bytes: Type.Integer({ minimum: 0 }),
      }),
      { description: "The frames of the clip; null: there is none yet, or none at all." },
    ),
  },
  { title: "EvidenceInfo" },
);
export type EvidenceInfo = Static<typeof EvidenceInfo>;

/** Fields of a notice whose alert has evidence. */
export const EvidenceFields = {
  evidence: Type.Optional(EvidenceInfo),
  clip_url: Type.Optional(
    Type.String({
      description:
        "Works without a key, for a limited time. Until the clip is complete it answers 409 with `Retry-After`.",
    }),
  ),
  snapshot_url: Type.Optional(Type.String({ description: "JPEG. Works without a key, for a limited time." })),
};
