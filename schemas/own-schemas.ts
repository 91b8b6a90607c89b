/**
 * How schemas of this repository are compiled. They are not checked against the meta-schema, which takes longer to compile
 * than any of them, in every process that starts: own-schemas.test.ts does that. Nor is the code of the checks optimised: it
 * takes longer than most of them ever run.
 */
export const OWN_SCHEMAS = { strict: false, validateSchema: false, code: { optimize: false } } as const;
