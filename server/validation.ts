/** Values against schemas, with every fault in words. */
import { Ajv2020, type AnySchema, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { TSchema } from "typebox";
import { ANY_CASE } from "../schemas/api/records.ts";
import { describeFaults } from "../schemas/describe-fault.ts";
import { OWN_SCHEMAS } from "../schemas/own-schemas.ts";
import type { InputFault } from "./service-error.ts";

/** No faults: the value fits. Paths are JSON pointers. */
export type Check = (value: unknown) => readonly InputFault[];

const OPTIONS = { ...OWN_SCHEMAS, allErrors: true, verbose: true, logger: false } as const;
const plain = new Ajv2020(OPTIONS);
const filling = new Ajv2020({ ...OPTIONS, useDefaults: true });
addFormats.default(plain);
addFormats.default(filling);
plain.addKeyword(ANY_CASE);
filling.addKeyword({
  keyword: ANY_CASE,
  type: "string",
  before: "pattern",
  modifying: true,
  errors: false,
  compile: (_, { pattern }) => {
    const wanted = new RegExp(pattern, "u");
    return (text: string, place) => {
      const lower = text.toLowerCase();
      // What does not fit in lower case either is told as it came.
      if (place !== undefined && wanted.test(lower)) place.parentData[place.parentDataProperty] = lower;
      return true;
    };
  },
});

/** Compiled when it is first needed: most schemas are not, in any one run. */
function makeCheck(ajv: Ajv2020, schema: TSchema): Check {
  let validate: ValidateFunction | undefined;
  return (value) => {
    if (validate === undefined) {
      validate = ajv.compile(schema as AnySchema);
      ajv.removeSchema(schema as AnySchema); // kept here, and nowhere else
    }
    return validate(value) ? [] : describeFaults(validate.errors ?? []);
  };
}

export const checkBy = (schema: TSchema): Check => makeCheck(plain, schema);

/** Of input: fills the schema's defaults into the value, too, and takes what is marked so in any case. */
export const checkAndFillBy = (schema: TSchema): Check => makeCheck(filling, schema);
