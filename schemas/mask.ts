const SECRET_NAMES = /^(?:.*(?:pass|passwd|password|pwd|secret|token|auth|signature)|key|apikey|api_key|sig)$/i;

/** `user:password@`; the second form is a password with a slash in it, which is no URL but still a password. */
const USERINFO = /[^\s/?#"']*@|[^\s/?#"':]*:(?!\d+[/?#])[^\s"']*@/;
const URL_STARTS = new RegExp(`\\b([a-z][a-z0-9+.-]*://)(?:${USERINFO.source})`, "gi");
/** Of whole URLs, and of the parts that GStreamer takes them apart into. */
const QUERY_PARTS = /([?&;])([^=&;#\s"']+)=([^&;#\s"']*)/g;

/** Without one of these there is neither a user in front of a host nor a query; most texts have none. */
const SUSPECT = /[@?&;]/;

/** Takes passwords out of every URL in a text, so that it can be logged, printed and sent. */
export function maskCredentials(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text
    .replace(URL_STARTS, "$1***@")
    .replace(QUERY_PARTS, (whole: string, separator: string, name: string) =>
      SECRET_NAMES.test(name) ? `${separator}${name}=***` : whole,
    );
}
