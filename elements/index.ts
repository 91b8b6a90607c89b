/** Loads the elements. One that fails to load is left out, with place and reason; the others are not affected. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readFolders } from "../schemas/folders.ts";
import type { Registry } from "../schemas/registry.ts";
import type { AnyElement, BrokenElement } from "./element.ts";
import { type FoundElement, findElements } from "./find.ts";
import { findOutside, type OutsideElement } from "./outside.ts";
import { framesOf, shortenPath } from "./source-lines.ts";
import { rejectName } from "./taken-names.ts";

/** A module with a top-level await that never settles must not block the others. */
const LOAD_SECONDS = 20;

/** The module was loaded, but does not export an element: there is no line to report. */
class LoadFault extends Error {
  override readonly name = "LoadFault";
}

export interface LoadedElements extends Map<string, AnyElement> {
  readonly broken: Map<string, BrokenElement>;
  /** Those of `Folders` that were loaded or are broken. */
  readonly outside: readonly OutsideElement[];
}

/** Windhover's own, and those of the folders that `schemas/folders.ts` names. Of two with the same name, the first counts. */
export async function loadElements(
  own?: readonly FoundElement[],
  outside?: readonly OutsideElement[],
): Promise<LoadedElements> {
  const others = outside ?? (own === undefined ? await findOutside(readFolders()) : []);
  const first = new Map<string, FoundElement>();
  const found = [...(own ?? (await findElements())), ...others];
  for (const each of found) if (!first.has(each.name)) first.set(each.name, each);
  const loaded = await Promise.all([...first.values()].map(loadElement));
  // Built elements do not need the esbuild process.
  if (others.length > 0 && readFolders().built === null) await (await import("./build.ts")).stopBuilding();
  const elements = new Map<string, AnyElement>();
  const broken = new Map<string, BrokenElement>();
  for (const outcome of loaded)
    if ("reason" in outcome) broken.set(outcome.name, outcome);
    else elements.set(outcome.name, outcome);
  for (const each of found) {
    const taken = first.get(each.name) ?? each;
    const owner = others.some((other) => other === taken) ? "" : "Windhover's own ";
    if (taken !== each) broken.set(each.name, rejectName(each, `${owner}${taken.file}`));
  }
  return Object.assign(elements, { broken, outside: others.filter((each) => first.get(each.name) === each) });
}

/** Leaves out elements of `Folders` that have the name of a GStreamer element: graphs keep that. */
export function omitTaken(elements: LoadedElements, registry: Pick<Registry, "list">): LoadedElements {
  if (elements.outside.length === 0) return elements;
  // Those of Windhover are what this process has registered of its elements and of workspaces.
  const foreign = registry.list().filter(({ klass }) => !klass.endsWith("/Windhover"));
  const factories = new Set(foreign.map(({ name }) => name));
  const taken = elements.outside.filter(({ name }) => factories.has(name));
  if (taken.length === 0) return elements;
  const names = new Set(taken.map(({ name }) => name));
  return Object.assign(new Map([...elements].filter(([name]) => !names.has(name))), {
    broken: new Map([
      ...elements.broken,
      ...taken.map((element) => [element.name, rejectName(element, "an element of GStreamer")] as const),
    ]),
    outside: elements.outside.filter(({ name }) => !names.has(name)),
  });
}

/** Again, after one of its files has changed. Null: its code is the same. */
export async function reloadElement(found: OutsideElement): Promise<AnyElement | BrokenElement | null> {
  let isSame = false;
  const load = async () => {
    const loaded = await found.loadChanged();
    isSame = loaded === null;
    return loaded ?? {};
  };
  const outcome = await loadElement({ ...found, load });
  return isSame ? null : outcome;
}

/** Loads those that have changed, where no graph runs. Resolves with them; one that does not load stays as it was. */
export async function refreshElements(elements: LoadedElements): Promise<readonly AnyElement[]> {
  const changed: AnyElement[] = [];
  for (const found of elements.outside) {
    const element = await reloadElement(found);
    if (element === null || "reason" in element) continue;
    elements.set(element.name, element);
    elements.broken.delete(element.name);
    changed.push(element);
  }
  return changed;
}

export async function loadElement(found: FoundElement): Promise<AnyElement | BrokenElement> {
  try {
    return expectElement(await withinLimit(found.load()), found.name);
  } catch (error) {
    return explainElement(found, error);
  }
}

/** `error` is that of loading or building it. */
export const explainElement = ({ name, file }: FoundElement, error: unknown): BrokenElement => ({
  name,
  ...explainLoadFault(error, file),
});

/** Seconds in which the thread was busy count once: the module may be loaded by then. */
async function withinLimit<T>(loading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    let seconds = 0;
    timer = setInterval(() => {
      seconds += 1;
      if (seconds === LOAD_SECONDS) reject(new LoadFault(`the module was not loaded within ${LOAD_SECONDS} s`));
    }, 1000);
  });
  try {
    return await Promise.race([loading, late]);
  } finally {
    clearInterval(timer);
  }
}

/** It becomes a part of the name of a GStreamer type. */
const NAME = /^[a-z][a-z0-9-]*$/;

/** Checks the fields that the compiler and the runtime rely on; they report other faults themselves. */
function expectElement(module: unknown, name: string): AnyElement {
  const wanted = `expected \`export default defineElement({ name: "${name}", … })\``;
  const { default: element } = module as { default?: Partial<AnyElement> };
  if (element === undefined) throw new LoadFault(`there is no default export; ${wanted}`);
  if (typeof element !== "object" || element === null || typeof element.name !== "string")
    throw new LoadFault(`the default export is not an element; ${wanted}`);
  if (element.name !== name)
    throw new LoadFault(`the element is named "${element.name}"; ${wanted}, as its folder is named`);
  if (!NAME.test(name)) throw new LoadFault(`"${name}" is not a name of an element; expected kebab-case: my-element`);
  const work = element.kind === "composite" ? "expand" : "create";
  const missing = [
    ...(["transform", "sink", "composite"].includes(element.kind ?? "") ? [] : ["kind"]),
    ...(typeof element.about === "string" ? [] : ["about"]),
    ...(typeof element.properties?.properties === "object" ? [] : ["properties"]),
    ...(element.kind === "composite" || typeof (element as { caps?: unknown }).caps === "string" ? [] : ["caps"]),
    ...(typeof (element as Record<string, unknown>)[work] === "function" ? [] : [work]),
  ];
  if (missing.length > 0)
    throw new LoadFault(`the default export is not an element: it has no valid ${missing.join(", ")}`);
  return element as AnyElement;
}

type LoadFailure = Omit<BrokenElement, "name">;

/** `file` is the element's, relative to the checkout. */
function explainLoadFault(thrown: unknown, file: string): LoadFailure {
  const error = thrown instanceof Error ? thrown : new LoadFault(`the module threw ${String(thrown)}`);
  if (error instanceof LoadFault) return { place: file, reason: error.message };
  return explainSyntax(error) ?? explainImport(error, file) ?? explainThrow(error, file);
}

/** From esbuild, whose columns start at 0, or from Node, which marks the column below the line. */
function explainSyntax({ message, stack = "" }: Error): LoadFailure | null {
  const [, path, line, column, reason = ""] = /^(.+?):(\d+):(\d+): ERROR: (.*)$/m.exec(message) ?? [];
  if (path !== undefined) {
    const file = shortenPath(path.startsWith("..") ? resolve(path) : path);
    return { place: `${file}:${line}:${Number(column) + 1}`, reason };
  }
  const [, drawn, drawnLine, before = ""] = /^(\S+):(\d+)\n.*\n( *)\^+\n/.exec(stack) ?? [];
  return drawn === undefined
    ? null
    : { place: `${shortenPath(drawn)}:${drawnLine}:${before.length + 1}`, reason: message };
}

function explainImport(error: NodeJS.ErrnoException, file: string): LoadFailure | null {
  if (error.code !== "ERR_MODULE_NOT_FOUND") return null;
  const [, wanted = "", path = ""] = /'([^']+)' imported from (.+)/.exec(error.message) ?? [];
  const importer = shortenPath(path);
  if (shortenPath(wanted) === file) return { place: file, reason: "there is no such file" };
  const place = findText(path, wanted.split("/").at(-1) ?? wanted);
  const what = wanted.startsWith("/") ? `the file ${shortenPath(wanted)}` : `the package "${wanted}"`;
  return { place: `${importer}${place}`, reason: `imports ${what}, which does not exist` };
}

function explainThrow(error: Error, file: string): LoadFailure {
  const place = framesOf(error.stack ?? "")
    .map((frame) => /^([^\s(]+\.[cm]?[jt]s:\d+:\d+)\)?$/.exec(frame.split(/[\s(]/).at(-1) ?? "")?.[1])
    .find((at) => at !== undefined && !/^(node:|node_modules\/|elements\/(index|find|evaluate|outside)\.ts)/.test(at));
  return { place: place ?? file, reason: `throws while loading: ${error.message || error.name}` };
}

/** `:line:column` of the import in a file; empty if it is not found. */
function findText(path: string, text: string): string {
  if (text === "" || !existsSync(path)) return "";
  const lines = readFileSync(path, "utf8").split("\n");
  const index = lines.findIndex((line) => /\bfrom\b|\bimport\b/.test(line) && line.includes(text));
  return index < 0 ? "" : `:${index + 1}:${(lines[index] ?? "").search(/["']/) + 1}`;
}
