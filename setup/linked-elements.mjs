/**
 * Elements that are symbolic links to folders elsewhere. Their imports are resolved from the real folder first, then as
 * if they were in `elements/`, so that `../element.ts` and the packages of this checkout are found.
 */
import { readdirSync, realpathSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const FOLDER = fileURLToPath(new URL("../elements", import.meta.url));

/** @returns {{ link: string, real: string }[]} links to folders outside of `elements/` */
export function listLinks() {
  return readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isSymbolicLink())
    .flatMap(({ name }) => {
      const link = join(FOLDER, name);
      try {
        const real = realpathSync(link);
        return real.startsWith(FOLDER + sep) ? [] : [{ link, real }];
      } catch {
        return [];
      }
    });
}

/** The path of a linked file inside `elements/`; null for files of no link. */
export function findPlace(path, links) {
  const found = links.find(({ real }) => path.startsWith(real + sep));
  return found === undefined ? null : join(found.link, path.slice(found.real.length));
}

const links = listLinks();

/** Hook for Node's module loader. */
export async function resolve(specifier, context, next) {
  const { parentURL } = context;
  const place = parentURL?.startsWith("file:") ? findPlace(fileURLToPath(parentURL), links) : null;
  if (place === null) return asModule(await next(specifier, context));
  try {
    return asModule(await next(specifier, context));
  } catch (error) {
    return next(specifier, { ...context, parentURL: pathToFileURL(place).href }).catch(() => Promise.reject(error));
  }
}

/** Linked files are ES modules, although no package.json outside of the checkout says so. */
function asModule(found) {
  if (!/^file:.*\.ts(\?|$)/.test(found.url) || findPlace(fileURLToPath(found.url), links) === null) return found;
  return { ...found, format: "module" };
}

/** Plugin for esbuild. */
export const linkedElements = {
  name: "linked-elements",
  setup(build) {
    const known = listLinks();
    if (known.length === 0) return;
    build.onResolve({ filter: /^/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
      const place = pluginData === NESTED ? null : findPlace(importer, known);
      if (place === null) return undefined;
      const found = await build.resolve(path, { importer, kind, resolveDir, pluginData: NESTED });
      if (found.errors.length === 0) return found;
      const there = await build.resolve(path, {
        importer: place,
        kind,
        resolveDir: join(place, ".."),
        pluginData: NESTED,
      });
      return there.errors.length === 0 ? there : undefined;
    });
  },
};

const NESTED = { isNested: true };
