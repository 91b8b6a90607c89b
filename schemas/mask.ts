/** Passwords out of texts. Every step is linear in the length of the text: clients choose what is logged. */

const SECRET_ENDINGS = ["pass", "passwd", "password", "pwd", "secret", "token", "auth", "signature"];
const SECRET_NAMES = ["key", "apikey", "api_key", "sig"];
/** Of whole URLs, and of the parts that GStreamer takes them apart into. A name ends at the next `?`. */
const QUERY_PARTS = /([?&;])([^=?&;#\s"']+)=[^&;#\s"']*/g;

/** Without one of these there is neither a user in front of a host nor a query; most texts have none. */
const SUSPECT = /[@?&;]/;

/** Takes passwords out of every URL in a text, so that it can be logged, printed and sent. */
export function maskCredentials(text: string): string {
  if (!SUSPECT.test(text)) return text;
  const masked = text.includes("://") && text.includes("@") ? text.replace(/[^\s"']+/g, maskUsers) : text;
  return masked.replace(QUERY_PARTS, (whole: string, separator: string, name: string) =>
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
    // A password with a slash in it makes it no URL, but is still a password. Digits before the slash are a port.
    else if (/:(?!\d+$)/.test(authority)) from = lastAt;
    if (from > start) masked += "***";
  }
  return masked + word.slice(from);
}
