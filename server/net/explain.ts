/** Why a connection failed, for people. What the other side sent is not in it: it may be anything. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "it closed the connection without an answer",
  EPIPE: "it closed the connection without an answer",
  EHOSTUNREACH: "there is no route to this host",
  ENETUNREACH: "there is no route to this network",
  ETIMEDOUT: "it does not answer",
  EPROTO: "TLS failed: it does not support TLS 1.2 or later",
  HPE_HEADER_OVERFLOW: "the headers of its answer are too long",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed and not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not signed by a trusted authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not signed by a trusted authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is not signed by a trusted authority",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
};

/** By the code of the error, or of the first address that was tried; null for a code that is not known. */
export function explainConnectionError(error: Error, more: Readonly<Record<string, string>> = {}): string | null {
  const { code, errors } = error as { code?: unknown; errors?: readonly { code?: unknown }[] };
  for (const one of [code, errors?.[0]?.code]) {
    const reason = more[String(one)] ?? REASONS[String(one)];
    if (reason !== undefined) return reason;
  }
  return String(code).startsWith("HPE_") ? "its answer is not valid HTTP" : null;
}
