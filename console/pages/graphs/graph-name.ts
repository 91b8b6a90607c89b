/** The name that a graph gives itself; null: none that it could be stored under. Pure. */
export const readGraphName = (text: string): string | null =>
  /^graph:[ \t]*["']?([A-Za-z0-9][A-Za-z0-9_-]{0,63})["']?[ \t]*(?:#.*)?$/m.exec(text)?.[1] ?? null;
