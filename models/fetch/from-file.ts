/** A file of this machine, with a limit to everything. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";

/** Throws an Error whose message is the reason. A pipe or a device, which may never end, is refused. */
export async function* readHere(
  path: string,
  { signal, mostBytes }: { readonly signal: AbortSignal; readonly mostBytes: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  const found = await stat(path);
  if (found.isDirectory()) throw new Error("it is a folder");
  if (!found.isFile()) throw new Error("it is a pipe or a device; expected a file");
  if (found.size > mostBytes) throw new Error(`it has ${found.size} bytes; at most ${mostBytes} were expected`);
  yield* createReadStream(path, { signal });
}

/** For what says its length wrongly, or grows. */
export async function* limitBytes(
  content: AsyncIterable<Uint8Array>,
  mostBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error(`it is longer than the ${mostBytes} bytes that were expected`);
    yield chunk;
  }
}
