import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Folder of the bundled programs (setup/test.mjs), which load faster than sources. */
const { TEST_CHILDREN: CHILDREN = "" } = process.env;

/** Options and file to start a test program (`*.child.ts`) with Node. */
export function runChild(program: URL): { readonly execArgv: readonly string[]; readonly file: string } {
  const source = fileURLToPath(program);
  const bundled = join(CHILDREN, relative(ROOT, source).replace(/\.ts$/, ".mjs"));
  return CHILDREN !== "" && existsSync(bundled)
    ? { execArgv: [], file: bundled }
    : { execArgv: ["--import", "tsx"], file: source };
}

/** The same as one list of arguments. */
export function childCommand(program: URL): readonly string[] {
  const { execArgv, file } = runChild(program);
  return [...execArgv, file];
}
