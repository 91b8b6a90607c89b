import { readFileSync } from "node:fs";
import { UsageFault } from "../command.ts";

/** `coco`, names with commas between them, or a file with a name on each line. */
export function readLabels(text: string | undefined): "coco" | string[] {
  if (text === undefined || text === "coco") return "coco";
  const names = text.includes(",") ? text.split(",") : readLines(text);
  return names.map((name) => name.trim()).filter((name) => name !== "");
}

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8").split(/\r?\n/);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageFault(
      `--labels is "${file}"; expected coco, names with commas between them, or a file with one on each line (${code})`,
      {
        cause: error,
      },
    );
  }
}
