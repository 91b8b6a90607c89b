/**
 * Elements that are links to folders elsewhere: what they import is looked for there first and then as if they lay in
 * `elements/`, so that `../element.ts` and the libraries of this checkout are found from wherever they really are.
 */
import { readdirSync, realpathSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const FOLDER = fileURLToPath(new URL("../elements", import.meta.url));

/** @returns {{ link: string, real: string }[]} of links that lead out of `elements/` */
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

/** Where a file would be in `elements/`; null when it belongs to no link. */
export function findPlace(path, links) {
  const found = links.find(({ real }) => path.startsWith(real + sep));
  return found === undefined ? null : join(found.link, path.slice(found.real.length));
}

const links = listLinks();

/** As a hook of Node's loader. */
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

/** Outside of the checkout there is no package.json that says so. */
function asModule(found) {
  if (!/^file:.*\.ts(\?|$)/.test(found.url) || findPlace(fileURLToPath(found.url), links) === null) return found;
  return { ...found, format: "module" };
}

/** As a plugin of esbuild's. */
export const linkedElements = {
  name: "linked-elements",
  setup(build) {
    const known = listLinks();
    if (known.length === 0) return;
    build.onResolve({ filter: /^/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
      const place = pluginData === IS_OURS ? null : findPlace(importer, known);
      if (place === null) return undefined;
      const found = await build.resolve(path, { importer, kind, resolveDir, pluginData: IS_OURS });
      if (found.errors.length === 0) return found;
      const there = await build.resolve(path, {
        importer: place,
        kind,
        resolveDir: join(place, ".."),
        pluginData: IS_OURS,
      });
      return there.errors.length === 0 ? there : undefined;
    });
  },
};

const IS_OURS = { isOurs: true };
