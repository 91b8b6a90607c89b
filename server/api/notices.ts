/** The history of alerts. */
import { NoticeListing, NoticeQuery, NoticeRecord, NoticeReview } from "../../schemas/api/notices.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { Sql } from "../store/client.ts";
import { deleteNotice, findNotice, listNotices, type NoticeRow, reviewNotice } from "../store/notices.ts";
import { type AnyEndpoint, defineEndpoints, deleted, listing, ok } from "./endpoint.ts";

const define = defineEndpoints("Alerts");

export const noticeEndpoints = (sql: Sql): readonly AnyEndpoint[] => [
  define("GET", "/notices", "listNotices", {
    summary: "List what your alerts have notified of",
    description:
      "Every notice is kept for `evidence.retention_days`, also when its alert has no output, and when its alert, process or source is deleted.",
    query: NoticeQuery,
    answers: { 200: { description: "Newest first.", schema: NoticeListing } },
    async handle({ user, query }) {
      const { from, to, alert, process, source, class: className, reviewed, ...page } = query;
      const found = await listNotices(sql, user.uuid, {
        ...{ ...page, alertUuid: alert, processUuid: process, sourceUuid: source, className, isReviewed: reviewed },
        from: from === undefined ? undefined : new Date(from),
        to: to === undefined ? undefined : new Date(to),
      });
      return listing("notices", found, describe);
    },
  }),
  define("GET", "/notice/{notice_uuid}", "readNotice", {
    summary: "Get a notice",
    answers: { 200: { description: "The notice.", schema: NoticeRecord } },
    errors: ["notice_not_found"],
    handle: async ({ user, params }) => ok(describe(await findNotice(sql, user.uuid, params.notice_uuid))),
  }),
  define("PATCH", "/notice/{notice_uuid}", "reviewNotice", {
    summary: "Mark a notice as reviewed, or comment on it",
    description:
      "`reviewed_by` is the user of the key. An omitted field keeps its value; a comment of null is removed.",
    body: NoticeReview,
    answers: { 200: { description: "The notice.", schema: NoticeRecord } },
    errors: ["notice_not_found"],
    async handle({ user, params, body: { reviewed, comment } }) {
      const reviewedBy = reviewed === undefined ? undefined : reviewed ? user.username : null;
      const review = { userUuid: user.uuid, uuid: params.notice_uuid, reviewedBy, comment };
      return ok(describe(await reviewNotice(sql, review)));
    },
  }),
  define("DELETE", "/notice/{notice_uuid}", "deleteNotice", {
    summary: "Delete a notice",
    answers: { 200: { description: "Deleted.", schema: Deleted } },
    errors: ["notice_not_found"],
    async handle({ user, params: { notice_uuid: uuid } }) {
      await deleteNotice(sql, user.uuid, uuid);
      return deleted(uuid);
    },
  }),
];

const describe = ({ uuid, body, reviewedAt, reviewedBy, comment }: NoticeRow): NoticeRecord => ({
  ...{ uuid, ...body, reviewed: reviewedAt !== null, reviewed_at: reviewedAt?.toISOString() ?? null },
  ...{ reviewed_by: reviewedBy, comment },
});
