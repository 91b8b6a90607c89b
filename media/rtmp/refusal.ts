/** What a server says when it refuses. */
import { isAmfObject } from "./amf0.ts";
import type { Command } from "./command.ts";

const MOST_LETTERS = 300;

/** Of a stream: it may not begin, or must end. */
export function isRefusal({ name, args: [info] }: Command): boolean {
  if (name !== "onStatus" || !isAmfObject(info)) return false;
  return info.level === "error" || info.code === "NetStream.Unpublish.Success";
}

/** Its own words, without the stream's name, which is a secret on many servers. */
export function describeRefusal({ object, args }: Command, streamName: string): string {
  const info = isAmfObject(args[0]) ? args[0] : object;
  const words = [info?.description, info?.code].find((text) => typeof text === "string" && text !== "");
  const text = typeof words === "string" ? words : "without a reason";
  const [name = "", query = ""] = streamName.split("?");
  const masked = [streamName, query, name].reduce(
    (rest, part) => (part.length < 4 ? rest : rest.replaceAll(part, "***")),
    text,
  );
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const clean = masked.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, MOST_LETTERS);
  return `the server refused: ${clean}`;
}
