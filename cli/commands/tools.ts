/** Loads a program of tools/, which the product does not need and a release image may leave out. */
import { existsSync } from "node:fs";
import { CommandFailure } from "../command.ts";

const TOOLS = new URL("../../tools/", import.meta.url);

/** Runs `load`. Throws `CommandFailure` when this installation has no tools/. */
export async function loadTool<T>(command: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (existsSync(TOOLS)) throw cause;
    throw new CommandFailure(
      `\`windhover ${command}\` is not part of this installation: it has no folder tools/. Run the command in a checkout of the sources.`,
      { cause },
    );
  }
}
