/**
 * How schemas of this repository are compiled. They are not checked against the meta-schema, which takes longer to compile
 * than any of them, in every process that starts: own-schemas.test.ts does that.
 */
export const OWN_SCHEMAS = { strict: false, validateSchema: false } as const;
