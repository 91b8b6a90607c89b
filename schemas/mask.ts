/** Masks credentials in texts. Every step is linear in the length of the text, because clients determine what is logged. */

const SECRET_ENDINGS = ["pass", "passwd", "password", "passphrase", "pwd", "secret", "token", "auth", "signature"];
const SECRET_NAMES = ["key", "apikey", "api_key", "sig"];
/** Matches whole URLs and the parts into which GStreamer splits them. A name ends at the next `?`. */
const QUERY_PARTS = /([?&;])([^=?&;#\s"']+)=[^&;#\s"']*/g;

/** Of SRT: it is or contains a key, and begins with `#`. */
const STREAM_ID = /([?&;]streamid=)[^&\s"']+/gi;

/** A text without these characters has neither a user before a host nor a query; most texts have none. */
const SUSPECT = /[@?&;]/;

const PRIVATE_KEY = "PRIVATE KEY-----";
const PRIVATE_KEYS = /-----BEGIN (?:RSA |EC |ENCRYPTED )?PRIVATE KEY-----[^-]*/g;

/** Masks the credentials of every URL in a text, and private keys, so that it can be logged, printed and sent. */
export function maskCredentials(given: string): string {
  const text = given.includes(PRIVATE_KEY) ? given.replace(PRIVATE_KEYS, "***") : given;
  if (!SUSPECT.test(text)) return text;
  const masked = text.includes("://") && text.includes("@") ? text.replace(/[^\s"']+/g, maskUsers) : text;
  return masked
    .replace(STREAM_ID, "$1***")
    .replace(QUERY_PARTS, (whole: string, separator: string, name: string) =>
      isSecret(name.toLowerCase()) ? `${separator}${name}=***` : whole,
    );
}

const isSecret = (name: string): boolean =>
  SECRET_NAMES.includes(name) || SECRET_ENDINGS.some((ending) => name.endsWith(ending));

/** `user:password@` of every URL in a word. */
function maskUsers(word: string): string {
  const lastAt = word.lastIndexOf("@");
  let masked = "";
  let from = 0;
  for (let at = word.indexOf("://"); at !== -1 && at < lastAt; at = word.indexOf("://", from)) {
    const start = at + 3;
    masked += word.slice(from, start);
    from = start;
    if (!/[a-z0-9+.-]/i.test(word.charAt(at - 1))) continue;
    // Reads up to the next URL at most.
    const length = word.slice(start).search(/[/?#]/);
    const authority = length === -1 ? word.slice(start) : word.slice(start, start + length);
    const end = authority.lastIndexOf("@");
    if (end !== -1) from = start + end;
    // With a slash in the password it is not a valid URL, but must still be masked. Digits before the slash are a port.
    else if (/:(?!\d+$)/.test(authority)) from = lastAt;
    if (from > start) masked += "***";
  }
  return masked + word.slice(from);
}
