/**
 * One example of every operation, recorded from the real service: `schemas/api-examples.json`. `test/api/examples/` sends
 * each request to a service and compares its answer; `UPDATE_EXAMPLES=1` records those that are missing or have changed.
 */
import recorded from "../api-examples.json" with { type: "json" };

export interface Example {
  readonly request: ExampleRequest;
  readonly status: number;
  /** Of the answer; null: it has no body. */
  readonly type: string | null;
  /** JSON, or text; absent: bytes, or no body. Lists are shortened. */
  readonly answer?: unknown;
}

export interface ExampleRequest {
  /** Of the path. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** JSON, or text; of a form: its parts, with the names of files. */
  readonly body?: unknown;
}

/** By `operationId`. */
export const EXAMPLES = recorded as Readonly<Record<string, Example>>;
