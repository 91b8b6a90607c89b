/** Lines of a file that may be long; none of them longer than what a message can be. */
import { createReadStream } from "node:fs";
import { CommandFailure } from "../command.ts";

const MOST_CHARACTERS = 4_000_000;

export interface Line {
  readonly text: string;
  /** From 1. */
  readonly number: number;
  readonly bytesRead: number;
}

/** Throws `CommandFailure` for a line without an end. */
export async function* splitLines(file: string): AsyncGenerator<Line> {
  const stream = createReadStream(file, { encoding: "utf8" });
  let rest = "";
  let number = 0;
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) yield { text, number: ++number, bytesRead: stream.bytesRead };
    if (rest.length > MOST_CHARACTERS)
      throw new CommandFailure(`${file}:${number + 1}: this line is longer than any message`);
  }
  if (rest !== "") yield { text: rest, number: ++number, bytesRead: stream.bytesRead };
}
