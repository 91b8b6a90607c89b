/** Where clips and telemetry of tests are: beside the graph file, in `clips/` of the workspace, or among downloaded clips. */
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { clipFile } from "../../clips/clips.ts";
import type { Named } from "../../graphs/compiler/document.ts";
import { findWorkspace } from "../workspace.ts";

export const besideGraph = ({ value, at }: Named): string =>
  isAbsolute(value) ? value : join(dirname(at.file ?? "."), value);

/** The places after the first one, in which a file is searched that is not beside its graph. */
function listOthers({ value }: Named): readonly string[] {
  if (isAbsolute(value)) return [];
  const workspace = findWorkspace();
  return [...(workspace === null ? [] : [relative("", join(workspace, "clips", value))]), clipFile(value)];
}

/** The first of the places that has it; if none has, that beside the graph. */
export const findTestFile = (named: Named): string =>
  [besideGraph(named), ...listOthers(named)].find((path) => existsSync(path)) ?? besideGraph(named);

/** `, nor clips/a.mp4, nor /home/anna/.cache/windhover/clips/a.mp4` for a file that is in none of the places. */
export const explainMissing = (named: Named): string =>
  existsSync(findTestFile(named))
    ? ""
    : listOthers(named)
        .map((path) => `, nor ${path}`)
        .join("");
