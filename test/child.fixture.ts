import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Where setup/test.mjs has bundled them: loaded so, they take a fraction of the time. */
const { TEST_CHILDREN: CHILDREN = "" } = process.env;

/** What Node is to be started with to run a program of the tests, a file named `*.child.ts`. */
export function runChild(program: URL): { readonly execArgv: readonly string[]; readonly file: string } {
  const source = fileURLToPath(program);
  const bundled = join(CHILDREN, relative(ROOT, source).replace(/\.ts$/, ".mjs"));
  return CHILDREN !== "" && existsSync(bundled)
    ? { execArgv: [], file: bundled }
    : { execArgv: ["--import", "tsx"], file: source };
}

/** The same as one list of words. */
export function childCommand(program: URL): readonly string[] {
  const { execArgv, file } = runChild(program);
  return [...execArgv, file];
}
