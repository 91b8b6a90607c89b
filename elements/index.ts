/** Loads the elements. One that cannot be loaded is left out, with the reason; the others do not depend on it. */
import type { AnyElement, BrokenElement, Elements } from "./element.ts";
import { explainLoadFault, LoadFault } from "./explain-load-fault.ts";
import { type FoundElement, findElements } from "./find.ts";

/** A module that awaits something at its top must not hold everything up. */
const LOAD_MS = 20_000;

export async function loadElements(found?: readonly FoundElement[]): Promise<Elements> {
  const loaded = await Promise.all((found ?? (await findElements())).map(loadElement));
  const elements = new Map<string, AnyElement>();
  const broken = new Map<string, BrokenElement>();
  for (const outcome of loaded)
    if ("reason" in outcome) broken.set(outcome.name, outcome);
    else elements.set(outcome.name, outcome);
  return Object.assign(elements, { broken });
}

async function loadElement(found: FoundElement): Promise<AnyElement | BrokenElement> {
  try {
    return expectElement(await withinLimit(found.load()), found.name);
  } catch (error) {
    return { name: found.name, ...explainLoadFault(error, found.file) };
  }
}

async function withinLimit<T>(loading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LoadFault(`it was not loaded within ${LOAD_MS / 1000} s`)), LOAD_MS);
  });
  try {
    return await Promise.race([loading, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What the compiler and the runtime rely on; what else may be wrong with it they say themselves. */
function expectElement(module: unknown, name: string): AnyElement {
  const wanted = `expected \`export default defineElement({ name: "${name}", … })\``;
  const { default: element } = module as { default?: Partial<AnyElement> };
  if (element === undefined) throw new LoadFault(`there is no default export; ${wanted}`);
  if (typeof element !== "object" || element === null || typeof element.name !== "string")
    throw new LoadFault(`the default export is not an element; ${wanted}`);
  if (element.name !== name)
    throw new LoadFault(`the element is named "${element.name}"; ${wanted}, as its folder is named`);
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
