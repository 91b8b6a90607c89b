/**
 * Builds an element that is not part of Windhover: TypeScript, with all files and packages that it imports, to one script.
 * esbuild runs as a child process, so that a confined program cannot do this.
 */
import { readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Plugin } from "esbuild";
import { HOST_MODULES, hostNames } from "./host-modules.ts";

export interface BuiltElement {
  /** CommonJS. */
  readonly code: string;
  /** Source map, relative to the folder of the element. */
  readonly map: string;
  /** Absolute paths of the files that were read, except those of packages. */
  readonly inputs: readonly string[];
}

/** `file` is absolute. Rejects with an error whose message has lines `FILE:LINE:COLUMN: ERROR: …`, columns from 0. */
export async function buildElement(file: string): Promise<BuiltElement> {
  const { build } = await import("esbuild");
  const folder = dirname(file);
  const { outputFiles, metafile } = await build({
    // Faults name files relative to it.
    absWorkingDir: process.cwd(),
    entryPoints: [file],
    outfile: join(folder, `${basename(file)}.cjs`),
    bundle: true,
    write: false,
    metafile: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    sourcemap: "external",
    sourcesContent: false,
    logLevel: "silent",
    // A script has no loader for `import()`.
    supported: { "dynamic-import": false },
    // Settings of an editor's tsconfig.json do not change what runs.
    tsconfigRaw: {},
    plugins: [hostModules, asIfInPlace, nativeFiles],
  });
  const [map, code] = ["map", "cjs"].map((ending) => outputFiles.find(({ path }) => path.endsWith(`.${ending}`))?.text);
  return {
    code: code ?? "",
    map: map ?? "",
    inputs: Object.keys(metafile.inputs)
      .filter((path) => !path.includes("node_modules/") && !path.startsWith("host:"))
      .map((path) => resolve(path)),
  };
}

/** Ends esbuild's process; the next build starts another one. */
export async function stopBuilding(): Promise<void> {
  const { stop } = await import("esbuild");
  await stop();
}

/** Modules that are those of this program, and not copies of them: `instanceof` works, and builds are small. */
const hostModules: Plugin = {
  name: "host-modules",
  setup(build) {
    build.onResolve({ filter: /^[@a-z]/ }, ({ path }) =>
      path in HOST_MODULES ? { path, namespace: "host" } : undefined,
    );
    build.onLoad({ filter: /^/, namespace: "host" }, async ({ path }) => {
      const from = `__host[${JSON.stringify(path)}]`;
      const lines = (await hostNames(path)).map((name) =>
        name === "default" ? `export default ${from}.default;` : `export const ${name} = ${from}.${name};`,
      );
      return { contents: lines.join("\n"), loader: "js" };
    });
  },
};

/** Keeps the values of `import.meta`, so that an element finds files beside its source. */
const asIfInPlace: Plugin = {
  name: "as-if-in-place",
  setup(build) {
    build.onLoad({ filter: /\.[cm]?[jt]s$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      if (!text.includes("import.meta.")) return undefined;
      const values = { url: pathToFileURL(path).href, filename: path, dirname: dirname(path) };
      const contents = text.replace(/\bimport\.meta\.(url|filename|dirname)\b/g, (_, name: keyof typeof values) =>
        JSON.stringify(values[name]),
      );
      return { contents, loader: /ts$/.test(path) ? "ts" : "js" };
    });
  },
};

/** Addons of packages are loaded from where they are. */
const nativeFiles: Plugin = {
  name: "native-files",
  setup(build) {
    build.onResolve({ filter: /\.node$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path),
      external: true,
    }));
  },
};
