/** All commands, with their help texts. */
import { COMMANDS } from "../../cli/commands.ts";
import { helpOf } from "../../cli/help.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { fence, made, table } from "./markdown.ts";

const PLAIN = { paintOut: (_: string, text: string) => text } as unknown as Terminal;

export async function writeCommands(): Promise<string> {
  const leaves = Object.entries(COMMANDS).flatMap(([name, entry]) =>
    "load" in entry
      ? [{ name, entry }]
      : Object.entries(entry.commands).map(([inner, leaf]) => ({ name: `${name} ${inner}`, entry: leaf })),
  );
  const helps = await Promise.all(
    leaves.map(async ({ name, entry }) =>
      [`## ${name}`, fence("text", helpOf(await entry.load(), PLAIN))].join("\n\n"),
    ),
  );
  return [
    made("the commands below cli/"),
    "# Commands",
    "`npx windhover help COMMAND` prints the same.",
    table(
      ["Command", "Description"],
      leaves.map(({ name, entry }) => [`[${name}](#${name.replaceAll(" ", "-")})`, entry.about]),
    ),
    ...helps,
  ].join("\n\n");
}
