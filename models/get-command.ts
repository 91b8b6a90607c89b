import type { FoundCard } from "./find-card.ts";

/** What a person can type to install this very card. */
export const getCommand = ({ askedFor }: Pick<FoundCard, "askedFor">): string =>
  `npx windhover models get ${quoteWord(askedFor)}`;

const quoteWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
