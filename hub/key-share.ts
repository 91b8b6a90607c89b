/** Memory of one key is shared by its streams: paths begin with the name of their owner. */

const ownerOf = (path: string): string => path.split("/", 1)[0] ?? "";

/** Of what one stream may have by itself, as much as all of its owner's leave: each gets the same. */
export function shareOf(path: string, paths: Iterable<string>, mostBytes: number, keyBytes: number): number {
  const owner = ownerOf(path);
  let count = 0;
  for (const other of paths) if (ownerOf(other) === owner) count += 1;
  return Math.min(mostBytes, keyBytes / Math.max(1, count));
}
