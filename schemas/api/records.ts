/** Schema parts that the resources of the API share. */
import { type TProperties, type TSchema, type TSchemaOptions, Type } from "typebox";

const UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

/** Marks text that is accepted in upper case and converted to lower case. */
export const ANY_CASE = "x-any-case";

export const Uuid = Type.String({
  pattern: UUID,
  [ANY_CASE]: true,
  description: "Lower case; upper case is accepted.",
});

export const Timestamp = Type.String({
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
  description: "UTC, ISO 8601 with milliseconds.",
});

/** Listings are complete by default, and paged on request. */
export const PageQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "Maximum number of entries." })),
  cursor: Type.Optional(
    Type.String({ maxLength: 2000, description: "`next_cursor` of the previous page, with the same `sort`." }),
  ),
});

/** Query of a listing: pages, filters, and an order by one of these fields. The default is the first, `usual` first. */
export const listQuery = <const S extends readonly [string, ...string[]], P extends TProperties>(
  sorts: S,
  filters: P,
  usual: "-" | "" = "-",
) =>
  Type.Object({
    ...PageQuery.properties,
    sort: Type.Optional(
      Type.Enum(
        sorts.flatMap((name) => [name, `-${name}`]),
        { default: `${usual}${sorts[0]}`, description: "Order of the entries. With `-` in front: descending." },
      ),
    ),
    ...filters,
  });

/** Linear: alternatives of fixed length. */
export const MOMENT =
  "^[12]\\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])(T([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,6})?)?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d))?$";

export const moment = (description: string) =>
  Type.String({
    pattern: MOMENT,
    description: `${description} ISO 8601: \`2026-05-17T08:30:00Z\`, or a day.`,
  });

/** Filter by the time of entries: `Processes that were started`. */
export const timeRange = (what: string) => ({
  from: Type.Optional(moment(`${what} at this time or later.`)),
  to: Type.Optional(moment(`${what} before this time.`)),
});

/** Filter by the label of entries. */
export const aliasFilter = Type.Optional(
  Type.String({ minLength: 1, maxLength: 255, description: "Entries with exactly this alias." }),
);

/** A listing: one plural key. */
export const listing = <P extends TProperties>(properties: P) =>
  Type.Object({
    ...properties,
    next_cursor: Type.Optional(Type.String({ description: "There is more: ask again with this `cursor`." })),
  });

/** Response to `DELETE` of one record. */
export const Deleted = Type.Object({ deleted: Type.Literal(true), uuid: Uuid });

/** For `allOf`: if `property` is one of `values`, `then` applies as well. */
export const when = (property: string, values: readonly string[], then: TSchema) => ({
  if: Type.Object({ [property]: Type.Enum([...values]) }),
  then,
});

export const orNull = <T extends TSchema>(type: T, options: TSchemaOptions = {}) =>
  Type.Union([type, Type.Null()], options);

/** Any JSON object. */
export const jsonObject = (description?: string) =>
  Type.Record(Type.String(), Type.Unknown(), description === undefined ? {} : { description });
