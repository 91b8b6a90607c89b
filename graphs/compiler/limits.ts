/** Limits that bound the time and memory of a compilation, whatever the text. */
export const MAX_TEXT_BYTES = 1_000_000;
/** Values in a document with its aliases resolved. */
export const MAX_VALUES = 50_000;
/** YAML tokens in a document. */
export const MAX_TOKENS = 200_000;
export const MAX_DEPTH = 64;
export const MAX_NODES = 1_000;
/** Expressions in a graph. */
export const MAX_EXPRESSIONS = 500;
export const MAX_EXTENDS = 16;
/** Parts that use one another. */
export const MAX_PART_DEPTH = 16;
/** Steps, and values in them, of all parts where they are used. */
export const MAX_PART_VALUES = 50_000;
/** Files whose parts a graph uses. */
export const MAX_PART_FILES = 32;
/** Tests of a graph. */
export const MAX_TESTS = 100;
/** Characters of one interpolated text, and of all of them in a compilation. */
export const MAX_TEXT_CHARS = 16_384;
export const MAX_INTERPOLATED_CHARS = 4_000_000;
