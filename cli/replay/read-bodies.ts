/** Bodies as they are posted to the service, in a file of YAML or JSON: one, a list, or what a listing answered. */
import { readFileSync, statSync } from "node:fs";
import type { Fault } from "../../graphs/compiler/fault.ts";
import { FaultList } from "../../graphs/compiler/fault-list.ts";
import { MAX_TEXT_BYTES } from "../../graphs/compiler/limits.ts";
import { findEntry, type Located, type LocatedMap, splitPointer, toJson } from "../../graphs/compiler/located.ts";
import type { Position } from "../../graphs/compiler/plan.ts";
import { readYaml } from "../../graphs/compiler/read-yaml.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { CommandFailure } from "../command.ts";
import { findNearFile } from "../files.ts";

/** No service keeps more for one user, and nobody reads the notices of more at a time. */
const MOST_BODIES = 1000;

export interface WrittenBody {
  readonly value: JsonRecord;
  readonly at: LocatedMap;
}

export interface BodyFile {
  readonly text: string;
  /** None where there are faults. */
  readonly bodies: readonly WrittenBody[];
  readonly faults: readonly Fault[];
}

/**
 * @param plural what a listing calls them: `alerts`, `subscriptions`
 * Throws `CommandFailure` for a file that cannot be read.
 */
export function readBodies(file: string, plural: string): BodyFile {
  const text = readText(file, plural);
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
  const expected = `the body of a request, a list of such, or \`${plural}:\` with a list of them`;
  if (items.length === 0) faults.add("document_shape", whole.at, `the list of ${plural} is empty`, { expected });
  if (items.length > MOST_BODIES)
    faults.add("document_shape", whole.at, `the list has ${items.length} ${plural}`, {
      expected: `at most ${MOST_BODIES}`,
    });
  return items.slice(0, MOST_BODIES).flatMap((item) => {
    if (item.kind === "map") return [{ value: toJson(item) as JsonRecord, at: item }];
    faults.add("document_shape", item.at, "this is no map of fields", { expected });
    return [];
  });
}

/** Where the value of a JSON pointer was written: at its key, or at the nearest thing around it that is there. */
export function locatePointer(body: LocatedMap, pointer: string): Position {
  let located: Located = body;
  let at: Position = body.at;
  for (const key of splitPointer(pointer)) {
    const entry: { readonly at: Position; readonly value: Located } | undefined =
      located.kind === "map"
        ? findEntry(located, key)
        : located.kind === "list"
          ? itemOf(located.items, key)
          : undefined;
    if (entry === undefined) return at;
    ({ at, value: located } = entry);
  }
  return at;
}

function itemOf(items: readonly Located[], key: string) {
  const item = items[Number(key)];
  return item === undefined ? undefined : { at: item.at, value: item };
}

/** `/region/polygon/2` → `region.polygon[2]`. */
export const showPointer = (pointer: string): string =>
  splitPointer(pointer)
    .map((key, index) => (/^\d+$/.test(key) ? `[${key}]` : `${index === 0 ? "" : "."}${key}`))
    .join("");

function readText(file: string, plural: string): string {
  try {
    const found = statSync(file);
    if (found.isDirectory()) throw new CommandFailure(`${file} is a folder; expected a file with ${plural}`);
    if (!found.isFile()) throw new CommandFailure(`${file} is no regular file; expected one with ${plural}`);
    if (found.size > MAX_TEXT_BYTES)
      throw new CommandFailure(`${file} is too large for ${plural}: more than ${MAX_TEXT_BYTES / 1e6} MB`);
    // Some editors put a mark before the first line.
    return readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw new CommandFailure(`${file} cannot be read: ${message}`, { cause });
    const near = findNearFile(file);
    throw new CommandFailure(`there is no file ${file}${near === undefined ? "" : `; did you mean "${near}"?`}`, {
      cause,
    });
  }
}
