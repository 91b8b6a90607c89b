/** The colour of a class on the time line: usual ones are far apart, others are derived from the name. Pure. */

const HUES: Readonly<Record<string, number>> = {
  person: 205,
  car: 28,
  truck: 350,
  bus: 48,
  motorcycle: 285,
  bicycle: 150,
  dog: 320,
};

export function hueOf(className: string): number {
  let hash = 7;
  for (const letter of className) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 3600;
  return HUES[className] ?? hash / 10;
}

/** At least 3 to 1 against the card in both themes. */
export const classColour = (className: string, isDark: boolean): string =>
  `hsl(${hueOf(className)} ${isDark ? "70% 62%" : "65% 42%"})`;
