/**
 * Property names are camelCase in TypeScript and kebab-case everywhere else
 * (YAML, launch lines, `inspect`, GObject). Only these two functions convert between them.
 */
export const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
export const camel = (name: string): string =>
  name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** Applies `rename` to the keys of a record, one level deep. */
export function renameKeys<T>(
  record: Readonly<Record<string, T>>,
  rename: (name: string) => string,
): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [rename(key), value]));
}
