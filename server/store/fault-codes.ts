/** A connection that was there is not any more; codes of the client, of Node's sockets, and of PostgreSQL. */
export const LOST: ReadonlySet<unknown> = new Set([
  ...["CONNECTION_CLOSED", "ECONNRESET", "EPIPE", "ETIMEDOUT"],
  ...["57P01", "57P02", "25P03"],
]);

export const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);
