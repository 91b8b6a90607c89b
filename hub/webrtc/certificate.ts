/** The hub's certificate for DTLS: made once for each hub, known to browsers by its fingerprint in the answer. */
import { createHash, X509Certificate } from "node:crypto";
import { CipherContext, HashAlgorithm, NamedCurveAlgorithm, SignatureAlgorithm } from "werift";

export interface Certificate {
  readonly certPem: string;
  readonly keyPem: string;
  readonly signatureHash: { readonly hash: 4; readonly signature: 3 };
  /** SHA-256, upper case with colons. */
  readonly fingerprint: string;
}

export async function makeCertificate(): Promise<Certificate> {
  const signatureHash = { hash: HashAlgorithm.sha256_4, signature: SignatureAlgorithm.ecdsa_3 } as const;
  const made = await CipherContext.createSelfSignedCertificateWithKey(signatureHash, NamedCurveAlgorithm.secp256r1_23);
  const fingerprint = printFinger(new X509Certificate(made.certPem).raw, "sha-256");
  return { certPem: made.certPem, keyPem: made.keyPem, signatureHash, fingerprint };
}

/** As SDP writes it. `algorithm` is one of `sha-256`, `sha-384`, `sha-512`. */
export const printFinger = (certificate: Buffer, algorithm: string): string =>
  (createHash(algorithm.replace("-", "")).update(certificate).digest("hex").toUpperCase().match(/../g) ?? []).join(":");
