/** The history of alerts. */
import { NOTICES_PER_PAGE, NoticeListing, NoticeQuery, NoticeRecord, NoticeReview } from "../../schemas/api/notices.ts";
import { Deleted } from "../../schemas/api/records.ts";
import { describeEvidence } from "../alerts/alert-evidence.ts";
import type { Signer } from "../keys/signed-urls.ts";
import type { Sql } from "../store/client.ts";
import { deleteNotice, findNotice, listNotices, type NoticeRow, reviewNotice } from "../store/notices.ts";
import { type AnyEndpoint, defineEndpoints, deleted, listing, ok, rangeOf } from "./endpoint.ts";

const define = defineEndpoints("Alerts");

export const noticeEndpoints = (sql: Sql, signer: Pick<Signer, "sign">): readonly AnyEndpoint[] => [
  define("GET", "/notices", "listNotices", {
    summary: "List what your alerts have notified of",
    sources: "listed",
    description:
      "Every notice is kept for `evidence.retention_days`, also when its alert has no output, and when its alert, process or source is deleted.",
    query: NoticeQuery,
    answers: { 200: { description: "Newest first.", schema: NoticeListing } },
    async handle({ user, query, publicUrl }) {
      const { alert, process, source, class: className, reviewed, limit = NOTICES_PER_PAGE, ...rest } = query;
      const found = await listNotices(sql, user.uuid, {
        ...{ ...rest, limit, alertUuid: alert, processUuid: process, sourceUuid: source, className },
        ...{ isReviewed: reviewed, sourceUuids: user.key.sourceUuids, happened: rangeOf(query) },
      });
      return listing("notices", found, (row) => describe(row, signer, publicUrl));
    },
  }),
  define("GET", "/notice/{notice_uuid}", "readNotice", {
    summary: "Get a notice",
    answers: { 200: { description: "The notice.", schema: NoticeRecord } },
    errors: ["notice_not_found"],
    handle: async ({ user, params, publicUrl }) =>
      ok(describe(await findNotice(sql, user.uuid, params.notice_uuid), signer, publicUrl)),
  }),
  define("PATCH", "/notice/{notice_uuid}", "reviewNotice", {
    summary: "Mark a notice as reviewed, or comment on it",
    description:
      "`reviewed_by` is the user of the key. An omitted field keeps its value; a comment of null is removed.",
    body: NoticeReview,
    answers: { 200: { description: "The notice.", schema: NoticeRecord } },
    errors: ["notice_not_found"],
    async handle({ user, params, publicUrl, body: { reviewed, comment } }) {
      const reviewedBy = reviewed === undefined ? undefined : reviewed ? user.username : null;
      const review = { userUuid: user.uuid, uuid: params.notice_uuid, reviewedBy, comment };
      return ok(describe(await reviewNotice(sql, review), signer, publicUrl));
    },
  }),
  define("DELETE", "/notice/{notice_uuid}", "deleteNotice", {
    summary: "Delete a notice, and its evidence",
    answers: { 200: { description: "Deleted.", schema: Deleted } },
    errors: ["notice_not_found"],
    async handle({ user, params: { notice_uuid: uuid } }) {
      await deleteNotice(sql, user.uuid, uuid);
      return deleted(uuid);
    },
  }),
];

function describe(row: NoticeRow, signer: Pick<Signer, "sign">, publicUrl: string): NoticeRecord {
  const { uuid, body, reviewedAt, reviewedBy, comment, evidence } = row;
  return {
    ...{ uuid, ...body, ...describeEvidence(uuid, evidence, signer, publicUrl), reviewed: reviewedAt !== null },
    ...{ reviewed_at: reviewedAt?.toISOString() ?? null, reviewed_by: reviewedBy, comment },
  };
}
