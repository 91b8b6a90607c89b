import type { JsonRecord } from "../../schemas/json.ts";
import type { Letter } from "./outbox.ts";

const known = new WeakMap<JsonRecord, Letter>();

/** Of a message that several clients get: it is written out once. */
export function writeLetter(message: JsonRecord): Letter {
  let letter = known.get(message);
  if (letter === undefined) {
    const json = JSON.stringify(message);
    letter = { json, bytes: Buffer.byteLength(json) };
    known.set(message, letter);
  }
  return letter;
}
