const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** What XML 1.0 has no way to say, not even escaped: most control characters, halves of characters, two that are none. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for.
const UNSPEAKABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

/** For text and for values of attributes. */
export const escapeXml = (text: string): string =>
  text.replaceAll(UNSPEAKABLE, "\ufffd").replaceAll(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter);
