import type { Outputs } from "../../../models/decode/decoder.ts";

/** Values of an output that are looked at: a network that has gone wrong is wrong in more than one of them. */
const MOST_LOOKED_AT = 4096;

/** Throws when an output holds values that are no numbers: nothing that is read from it would mean anything. */
export function expectNumbers(outputs: Outputs): void {
  for (const [name, { data }] of Object.entries(outputs)) {
    if (!(data instanceof Float32Array)) continue;
    // Odd, so that it does not keep to one column of a table.
    const step = Math.ceil(data.length / MOST_LOOKED_AT) | 1;
    for (let i = 0; i < data.length; i += step)
      if (Number.isNaN(data[i])) throw new Error(`the model gave NaN in its output ${name}`);
  }
}
