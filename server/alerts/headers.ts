/**
 * Headers that users add to webhooks. A list of what is allowed, and not of what is not: with free headers a request could
 * pass checks of servers that trust their own network.
 */
import { MASK } from "../../schemas/api/alerts.ts";
import { didYouMean } from "../../schemas/suggest.ts";

type Headers = Readonly<Record<string, string>>;

/** Shown as `***`. */
const SECRET = ["Authorization", "Api-Key", "X-Api-Key", "X-Auth-Token", "X-Gotify-Key", "Private-Token"];
/** The last ones are those of ntfy. */
const PLAIN = [
  "Accept",
  ...["Title", "Priority", "Tags", "Click", "Attach", "Filename", "Icon", "Actions", "Markdown", "Delay", "Email"],
];

const has = (names: readonly string[], name: string): boolean =>
  names.some((known) => known.toLowerCase() === name.toLowerCase());

/** What is wrong with them, by name. */
export function checkHeaders(headers: Headers): readonly { readonly name: string; readonly message: string }[] {
  const names = Object.keys(headers);
  return names.flatMap((name, index) => {
    if (names.findIndex((other) => other.toLowerCase() === name.toLowerCase()) < index)
      return [{ name, message: "is there twice; names of headers are the same in upper and lower case" }];
    if (has(SECRET, name) || has(PLAIN, name)) return [];
    const known = [...SECRET, ...PLAIN];
    return [{ name, message: `cannot be set; expected one of ${known.join(", ")}${didYouMean(name, known)}` }];
  });
}

export const maskHeaders = (headers: Headers): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, has(SECRET, name) ? MASK : value]));

/** With stored values in place of masks. `before`: of the same receiver. Or the name of one that is not stored. */
export function restoreHeaders(
  headers: Headers,
  before: Headers,
): { readonly headers: Headers } | { readonly missing: string } {
  const restored: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const [, stored] = Object.entries(before).find(([known]) => known.toLowerCase() === name.toLowerCase()) ?? [];
    if (value === MASK && has(SECRET, name) && stored === undefined) return { missing: name };
    restored[name] = value === MASK && has(SECRET, name) ? (stored ?? value) : value;
  }
  return { headers: restored };
}
