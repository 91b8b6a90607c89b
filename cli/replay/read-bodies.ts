/** Request bodies in a file of YAML or JSON: one, a list, or the response of a listing. */
import { type Fault, FaultList } from "../../graphs/compiler/fault.ts";
import { MAX_TEXT_BYTES } from "../../graphs/compiler/limits.ts";
import { findEntry, type Located, toJson } from "../../graphs/compiler/located.ts";
import { readYaml } from "../../graphs/compiler/text-to-values.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { WrittenBody } from "../../server/alerts/written-alerts.ts";
import { readTextFile } from "../files.ts";

/** More than a user can have in the service. */
const MOST_BODIES = 1000;

export interface BodyFile {
  readonly text: string;
  /** Empty if there are faults. */
  readonly bodies: readonly WrittenBody[];
  readonly faults: readonly Fault[];
}

/**
 * @param plural their key in a listing: `alerts`, `subscriptions`
 * Throws `CommandFailure` for a file that cannot be read.
 */
export function readBodies(file: string, plural: string): BodyFile {
  const text = readTextFile(file, `expected a file with ${plural}`, MAX_TEXT_BYTES);
  const faults = new FaultList(file);
  const root = readYaml(file, text, faults, { noun: `list of ${plural}`, begins: `a list of ${plural}` });
  const bodies = root === null ? [] : listBodies(root, plural, faults);
  const found = faults.sorted();
  return { text, bodies: found.length === 0 ? bodies : [], faults: found };
}

function listBodies(root: Located, plural: string, faults: FaultList): readonly WrittenBody[] {
  const listed = root.kind === "map" ? findEntry(root, plural)?.value : undefined;
  const whole = listed ?? root;
  const items = whole.kind === "list" ? whole.items : [whole];
  const expected = `the body of a request, a list of bodies, or \`${plural}:\` with a list of them`;
  if (items.length === 0) faults.add("document_shape", whole.at, `the list of ${plural} is empty`, { expected });
  if (items.length > MOST_BODIES)
    faults.add("document_shape", whole.at, `the list has ${items.length} ${plural}`, {
      expected: `up to ${MOST_BODIES}`,
    });
  return items.slice(0, MOST_BODIES).flatMap((item) => {
    if (item.kind === "map") return [{ value: toJson(item) as JsonRecord, at: item }];
    faults.add("document_shape", item.at, "this is not a map of fields", { expected });
    return [];
  });
}
