import { KEY_BYTES } from "./keyring.ts";

/** Keys as text, the current one first: 64 hexadecimal digits each, between them spaces, commas or line ends. `#` begins a comment. */
export function readKeys(text: string): readonly Uint8Array[] | null {
  const words = text
    .replaceAll(/#.*$/gm, "")
    .split(/[\s,]+/)
    .filter((word) => word !== "");
  if (words.length === 0 || words.some((word) => !/^[0-9a-fA-F]+$/.test(word) || word.length !== 2 * KEY_BYTES))
    return null;
  return words.map((word) => Buffer.from(word, "hex"));
}

export const EXPECTED_KEYS =
  "64 hexadecimal digits, as `openssl rand -hex 32` prints them; several keys: the current one first";
