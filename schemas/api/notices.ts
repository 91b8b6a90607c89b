/** The history of alerts: what has happened, and whether a person has looked through it. */
import { type Static, Type } from "typebox";
import { AlertNotice } from "./events.ts";
import { EVIDENCE_STATES } from "./evidence.ts";
import { listing, listQuery, orNull, Timestamp, timeRange, Uuid } from "./records.ts";

/** Unlike other listings, which are complete by default: notices have pictures, and there can be a hundred thousand of them. */
export const NOTICES_PER_PAGE = 100;

export const NoticeQuery = listQuery(["timestamp"], {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, default: NOTICES_PER_PAGE, description: "Maximum number of entries." }),
  ),
  ...timeRange("Notices of events"),
  alert: Type.Optional(Uuid),
  process: Type.Optional(Uuid),
  source: Type.Optional(Uuid),
  class: Type.Optional(Type.String({ maxLength: 1000, description: "Class of at least one of its tracks: `person`." })),
  reviewed: Type.Optional(Type.Boolean()),
  evidence: Type.Optional(Type.Enum([...EVIDENCE_STATES], { description: "State of its evidence." })),
});

export const NoticeRecord = Type.Object(
  {
    uuid: Uuid,
    ...AlertNotice.properties,
    reviewed: Type.Boolean(),
    reviewed_at: orNull(Timestamp),
    reviewed_by: orNull(Type.String(), { description: "Username of the key." }),
    comment: orNull(Type.String()),
  },
  { title: "Notice" },
);
export type NoticeRecord = Static<typeof NoticeRecord>;

export const NoticeListing = listing({ notices: Type.Array(NoticeRecord) });

export const NoticeReview = Type.Object(
  {
    reviewed: Type.Optional(Type.Boolean()),
    comment: Type.Optional(
      orNull(Type.String({ maxLength: 2000, pattern: "^[^\\u0000]*$", description: "Up to 2000 characters." })),
    ),
  },
  { title: "NoticeReview", additionalProperties: false, minProperties: 1 },
);
