/** Values against schemas, with every fault in words. */
import addFormats from "ajv-formats";
import type { TSchema } from "typebox";
import { ANY_CASE } from "../schemas/api/records.ts";
import { type Check, Checks } from "../schemas/bounded-check.ts";
import { MOST_PATTERN_CHARACTERS } from "../schemas/plain-schema.ts";

const plain = new Checks({}, (ajv) => {
  addFormats.default(ajv);
  ajv.addKeyword(ANY_CASE);
});
const filling = new Checks({ useDefaults: true }, (ajv) => {
  addFormats.default(ajv);
  ajv.addKeyword({
    keyword: ANY_CASE,
    type: "string",
    before: "pattern",
    modifying: true,
    errors: false,
    compile: (_, { pattern }) => {
      const wanted = new RegExp(pattern, "u");
      return (text: string, place) => {
        if (text.length > MOST_PATTERN_CHARACTERS) return true;
        const lower = text.toLowerCase();
        // A text that does not match in lower case either is reported as it came.
        if (place !== undefined && wanted.test(lower)) place.parentData[place.parentDataProperty] = lower;
        return true;
      };
    },
  });
});

export type { Check };

export const checkBy = (schema: TSchema): Check => plain.by(schema);

/** Of input: fills the schema's defaults into the value, too, and takes what is marked so in any case. */
export const checkAndFillBy = (schema: TSchema): Check => filling.by(schema);
