/** A Dockerfile as its instructions, stage by stage. */

export interface Instruction {
  readonly name: string;
  readonly text: string;
}

export interface Stage {
  readonly image: string;
  readonly name: string | null;
  readonly instructions: readonly Instruction[];
}

export interface Copy {
  /** A stage; null for the repository. */
  readonly from: string | null;
  readonly sources: readonly string[];
  readonly target: string;
}

export function readDockerfile(text: string): readonly Stage[] {
  const stages: (Stage & { instructions: Instruction[] })[] = [];
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  for (const line of lines
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")) {
    const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (name === "") throw new Error(`no instruction: ${line}`);
    if (name === "FROM") {
      const [, image = "", , as = null] = /^(\S+)( AS (\S+))?$/.exec(rest) ?? [];
      stages.push({ image, name: as, instructions: [] });
    } else stages.at(-1)?.instructions.push({ name, text: rest });
  }
  return stages;
}

export const textOf = (stage: Stage, name: string): string | undefined =>
  stage.instructions.findLast((instruction) => instruction.name === name)?.text;

export function copiesOf(stage: Stage): readonly Copy[] {
  return stage.instructions
    .filter(({ name }) => name === "COPY")
    .map(({ text }) => {
      const words = text.split(/\s+/);
      const from = words[0]?.startsWith("--from=") ? (words.shift() ?? "").slice("--from=".length) : null;
      return { from, sources: words.slice(0, -1), target: words.at(-1) ?? "" };
    });
}
