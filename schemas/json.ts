/** Anything that survives JSON. Property values of a plan are of this type, and nothing else. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonRecord = { readonly [key: string]: Json };
