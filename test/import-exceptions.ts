/**
 * Imports in `server/` that still break the rules of `test/import-rules.ts`, as `importing file → imported file`.
 * This list must shrink to empty: never add to it, and remove an entry with the import (a test reports stale entries).
 */
export const EXCEPTIONS: readonly string[] = [
  // Against the direction main → api → … → (async, net, log).
  // In an import cycle.
];
