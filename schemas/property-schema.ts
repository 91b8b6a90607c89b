import type { Json } from "./json.ts";

/** What is read of the JSON Schema of one property or parameter. */
export interface PropertySchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly Json[];
  readonly const?: Json;
  readonly anyOf?: readonly PropertySchema[];
  readonly items?: PropertySchema;
  readonly default?: Json;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
  readonly live?: boolean;
}
