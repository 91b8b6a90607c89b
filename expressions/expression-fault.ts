interface Hints {
  readonly expected?: string | undefined;
  readonly suggestion?: string | undefined;
  readonly unknown?: string | undefined;
}

/** A fault in the text of an expression, at the offset `start`. */
export class ExpressionFault extends Error {
  override readonly name = "ExpressionFault";
  readonly start: number;
  readonly expected: string | undefined;
  readonly suggestion: string | undefined;
  /** The name of an unknown variable. */
  readonly unknown: string | undefined;

  constructor(message: string, start: number, { expected, suggestion, unknown }: Hints = {}) {
    super(message);
    this.start = start;
    this.expected = expected;
    this.suggestion = suggestion;
    this.unknown = unknown;
  }
}
