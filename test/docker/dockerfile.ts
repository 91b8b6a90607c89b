/** Parses a Dockerfile into stages with their instructions; substitutes global arguments. */

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
  /** Name of a stage; null for the build context. */
  readonly from: string | null;
  readonly sources: readonly string[];
  readonly target: string;
}

export function readDockerfile(text: string): readonly Stage[] {
  const stages: (Stage & { instructions: Instruction[] })[] = [];
  const given = new Map<string, string>();
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  for (const line of lines
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")) {
    const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (name === "") throw new Error(`expected an instruction, received: ${line}`);
    if (name === "ARG" && stages.length === 0) {
      const [argument = "", value = ""] = rest.split("=");
      given.set(argument, value);
    } else if (name === "FROM") {
      const put = rest.replaceAll(/\$\{(\w+)\}/g, (_, argument: string) => given.get(argument) ?? "");
      const [, image = "", , as = null] = /^(\S+)( AS (\S+))?$/.exec(put) ?? [];
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
