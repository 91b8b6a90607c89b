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
  cursor: Type.Optional(Type.String({ maxLength: 200, description: "`next_cursor` of the previous page." })),
});

/** A listing: one plural key, newest first. */
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
