/** What the records of the API have in common. */
import { type TProperties, Type } from "typebox";

const UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

/** Marks text that is taken in capitals, too, and reaches endpoints in lower case. */
export const ANY_CASE = "x-any-case";

export const Uuid = Type.String({
  pattern: UUID,
  [ANY_CASE]: true,
  description: "Lower case; capitals are taken for the same.",
});

export const Timestamp = Type.String({
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
  description: "UTC, ISO 8601 with milliseconds.",
});

/** Of listings: whole by default, in pages on request. */
export const PageQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "So many at most." })),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: "`next_cursor` of the page before." })),
});

/** A listing: one plural key, newest first. */
export const listing = <P extends TProperties>(properties: P) =>
  Type.Object({
    ...properties,
    next_cursor: Type.Optional(Type.String({ description: "There is more: ask again with this `cursor`." })),
  });

/** Of `DELETE` on one record. */
export const Deleted = Type.Object({ deleted: Type.Literal(true), uuid: Uuid });
