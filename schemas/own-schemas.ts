/**
 * Ajv options for the schemas of this repository. They are not validated against the meta-schema, which takes longer to
 * compile than any of them: own-schemas.test.ts does that. The generated code is not optimised, which takes longer than
 * most of them ever run.
 */
export const OWN_SCHEMAS = { strict: false, validateSchema: false, code: { optimize: false } } as const;
