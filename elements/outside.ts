/**
 * Elements that are not part of Windhover: folders `x/x.ts` of a workspace or of the configuration, and npm packages
 * `windhover-element-x` beside such a folder.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Folders } from "../schemas/folders.ts";
import type { BuiltElement } from "./build.ts";
import type { FoundElement } from "./find.ts";
import { listFolder } from "./list-folder.ts";
import { shortenPath } from "./source-lines.ts";

const PACKAGE = /^(?:@[^/]+\/)?windhover-element-([a-z][a-z0-9-]*)$/;

type Built = Pick<BuiltElement, "code" | "map">;

export interface OutsideElement extends FoundElement {
  /** Absolute. */
  readonly path: string;
  /** The package that it is, or null. */
  readonly packageFolder: string | null;
  /** What was read for it, besides packages, and its folder: it may have to be loaded again when one of them changes. */
  files(): readonly string[];
  /** Again at every call, as `load` does. */
  build(): Promise<Built>;
  /** As `load`; resolves with null if its code is that of the last load. */
  loadChanged(): Promise<unknown>;
}

/** An element as the service has built it, or why it could not be built. */
interface StoredElement {
  readonly name: string;
  readonly path: string;
  readonly built?: Built;
  readonly fault?: { readonly message: string; readonly code?: string | undefined };
}

export async function findOutside({ elements, built }: Folders): Promise<readonly OutsideElement[]> {
  if (built !== null) {
    const stored = new StoredElements(built);
    return (await stored.read()).map((element) => fromStored(element, stored));
  }
  const found = await Promise.all(
    elements.map(async (folder) => [...(await listElements(folder)), ...listPackages(folder)]),
  );
  return found.flat();
}

/**
 * Builds them into one file, which `Folders.built` names, for programs that cannot build. Resolves with those that could
 * not be built; if the file has an earlier build of one, it is kept.
 */
export async function storeOutside(
  found: readonly OutsideElement[],
  file: string,
): Promise<readonly { readonly element: OutsideElement; readonly error: unknown }[]> {
  const before = existsSync(file) ? await new StoredElements(file).read() : [];
  const faults: { readonly element: OutsideElement; readonly error: unknown }[] = [];
  const stored = found.map(async (element): Promise<StoredElement> => {
    const { name, path, build } = element;
    try {
      const { code, map } = await build();
      return { name, path, built: { code, map } };
    } catch (error) {
      faults.push({ element, error });
      const { message, code } = error as NodeJS.ErrnoException;
      return before.find((one) => one.path === path && one.built) ?? { name, path, fault: { message, code } };
    }
  });
  const text = JSON.stringify(await Promise.all(stored));
  // A program may be reading it. Runners may run as another user.
  await writeFile(`${file}.new`, text);
  await chmod(`${file}.new`, 0o644);
  await rename(`${file}.new`, file);
  return faults;
}

/** Folders that elements may read at run time: their own, and those of packages. */
export const listElementFolders = ({ elements }: Folders): readonly string[] =>
  elements.flatMap((folder) => [folder, ...listPackages(folder).flatMap(({ packageFolder }) => packageFolder ?? [])]);

function toElement(
  name: string,
  path: string,
  build: () => Promise<Built>,
  { packageFolder = null, files = () => [] }: Partial<Pick<OutsideElement, "packageFolder" | "files">> = {},
): OutsideElement {
  let loaded: string | null = null;
  const evaluate = async (built: Built) => {
    const { evaluateElement } = await import("./evaluate.ts");
    loaded = built.code;
    return evaluateElement(path, built);
  };
  return {
    ...{ name, path, file: shortenPath(path), packageFolder, files, build },
    load: async () => evaluate(await build()),
    loadChanged: async () => {
      const built = await build();
      return built.code === loaded ? null : evaluate(built);
    },
  };
}

/** The file with built elements, read again when it has changed. */
class StoredElements {
  readonly file: string;
  #changedMs = 0;
  #elements: readonly StoredElement[] = [];

  constructor(file: string) {
    this.file = file;
  }

  async read(): Promise<readonly StoredElement[]> {
    const { mtimeMs } = await stat(this.file);
    if (mtimeMs === this.#changedMs) return this.#elements;
    this.#changedMs = mtimeMs;
    this.#elements = JSON.parse(await readFile(this.file, "utf8")) as StoredElement[];
    return this.#elements;
  }
}

function fromStored({ name, path }: StoredElement, stored: StoredElements): OutsideElement {
  const build = async () => {
    const found = (await stored.read()).find((element) => element.path === path);
    if (found?.built !== undefined) return found.built;
    throw Object.assign(new Error(found?.fault?.message), { code: found?.fault?.code });
  };
  return toElement(name, path, build, { files: () => [stored.file] });
}

async function listElements(folder: string): Promise<readonly OutsideElement[]> {
  const names = await listFolder(pathToFileURL(`${folder}/`));
  return names.map((name) => fromSource(name, join(folder, name, `${name}.ts`), null));
}

function fromSource(name: string, path: string, packageFolder: string | null): OutsideElement {
  let inputs: readonly string[] = [path, dirname(path)];
  const build = async () => {
    if (!existsSync(path)) throw notFound(`module '${path}'`, dirname(path));
    const { buildElement } = await import("./build.ts");
    const built = await buildElement(path);
    inputs = [...built.inputs, dirname(path)];
    return built;
  };
  return toElement(name, path, build, { packageFolder, files: () => inputs });
}

/** As Node reports it. */
const notFound = (what: string, importer: string): Error =>
  Object.assign(new Error(`Cannot find ${what} imported from ${importer}`), { code: "ERR_MODULE_NOT_FOUND" });

/** Those that package.json names, and others that are installed. One that is named and not installed is reported. */
function listPackages(folder: string): readonly OutsideElement[] {
  const above = dirname(folder);
  const names = new Set([...listDependencies(above), ...listInstalled(above)]);
  return [...names].sort().map((name) => {
    const place = findPackage(name, above);
    const element = PACKAGE.exec(name)?.[1] ?? name;
    if (place !== null) return fromSource(element, place.main, place.folder);
    const manifest = join(above, "package.json");
    return toElement(element, manifest, () => Promise.reject(notFound(`package '${name}'`, manifest)));
  });
}

function listDependencies(folder: string): readonly string[] {
  const { dependencies = {}, devDependencies = {} } = readManifest(folder) ?? {};
  return Object.keys({ ...dependencies, ...devDependencies }).filter((name) => PACKAGE.test(name));
}

function listInstalled(folder: string): readonly string[] {
  const modules = join(folder, "node_modules");
  const list = (path: string): readonly string[] => (existsSync(path) ? readdirSync(path) : []);
  const scoped = list(modules)
    .filter((name) => name.startsWith("@"))
    .flatMap((scope) => list(join(modules, scope)).map((name) => `${scope}/${name}`));
  return [...list(modules), ...scoped].filter((name) => PACKAGE.test(name));
}

/** It may be installed further up. */
function findPackage(name: string, above: string): { readonly folder: string; readonly main: string } | null {
  const folder = join(above, "node_modules", name);
  const manifest = readManifest(folder);
  if (manifest !== null) return { folder, main: join(folder, manifest.main ?? "index.js") };
  return dirname(above) === above ? null : findPackage(name, dirname(above));
}

interface Manifest {
  readonly main?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Null also if it is not valid JSON: npm reports that. */
function readManifest(folder: string): Manifest | null {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  } catch {
    return null;
  }
}
