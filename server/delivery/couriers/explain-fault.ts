const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "it closed the connection without an answer",
  EPIPE: "it closed the connection without an answer",
  EHOSTUNREACH: "there is no way to this host",
  ENETUNREACH: "there is no way to this network",
  ETIMEDOUT: "it could not be connected to",
  EPROTO: "it does not speak TLS as we do",
  HPE_HEADER_OVERFLOW: "the headers of its answer are too long",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is signed by itself, and so by nobody that is trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is signed by nobody that is trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is signed by nobody that is trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is signed by nobody that is trusted",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
};

/** Why no answer came, for people. What the receiver said is not in it: it may be anything. */
export function explainFault(error: Error): string {
  const { code, errors } = error as { code?: unknown; errors?: readonly { code?: unknown }[] };
  // Several addresses were tried: the first tells as much as all of them.
  const codes = [code, errors?.[0]?.code].map(String);
  const known = codes.map((one) => REASONS[one]).find((reason) => reason !== undefined);
  if (known !== undefined) return known;
  return codes[0]?.startsWith("HPE_") ? "what it answers is no HTTP" : `it cannot be reached (${codes[0]})`;
}
