/** Who made the background of the map. Pure. */

export interface AttributionPart {
  readonly text: string;
  /** The part is a link to itself. */
  readonly isLink: boolean;
}

/** Addresses in the text become links. */
export const splitAttribution = (text: string): readonly AttributionPart[] =>
  text
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => ({ text: word, isLink: isAddress(word) }));

const isAddress = (word: string): boolean => word.startsWith("https://") && URL.canParse(word);
