/** Schemas that depend on the value of one property, for `allOf`. */
import { type TSchema, Type } from "typebox";

/** Where `property` is one of `values`, `then` holds as well. */
export const when = (property: string, values: readonly string[], then: TSchema) => ({
  if: Type.Object({ [property]: Type.Enum([...values]) }),
  then,
});
