/** Spans of a trace, as the rest of the server uses them: without a dependency, and absent (null) while nothing is traced. */

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanEnd {
  /** Why it failed, without secrets. */
  readonly error?: string | undefined;
  readonly attributes?: SpanAttributes;
  /** Replaces the name that it began with. */
  readonly name?: string;
  /** Unix milliseconds; default: now. */
  readonly endMs?: number;
}

/** One step of a trace. Ended once by the one who started it; later calls have no effect. */
export interface Span {
  readonly traceId: string;
  /** For another process (W3C Trace Context). */
  readonly traceparent: string;
  /** @param startMs Unix milliseconds; default: now */
  start(name: string, attributes?: SpanAttributes, startMs?: number): Span;
  end(end?: SpanEnd): void;
}

/** A span around work; its failure is that of the span. */
export async function traced<T>(
  parent: Span | null | undefined,
  name: string,
  work: (span: Span | null) => Promise<T>,
): Promise<T> {
  if (parent == null) return work(null);
  const span = parent.start(name);
  try {
    const value = await work(span);
    span.end();
    return value;
  } catch (error) {
    span.end({ error: (error as Error).message });
    throw error;
  }
}
