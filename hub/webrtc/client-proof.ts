/**
 * A client's CertificateVerify (RFC 5246, 7.4.8): its signature over the handshake so far. The library reads it without
 * checking it, so that anybody on the way could show the certificate of somebody else.
 */
import { verify, X509Certificate } from "node:crypto";

const CERTIFICATE_VERIFY = 15;
const FINISHED = 20;
const HASHES: Readonly<Record<number, string>> = { 4: "sha256", 5: "sha384", 6: "sha512" };

export interface HandshakeMessage {
  readonly msg_type: number;
  /** Without the header. */
  readonly fragment: Buffer;
  /** With the header, as it counts for the signature. */
  serialize(): Buffer;
}

/** `transcript`: the messages of the handshake in their order, the cookie exchange left out. */
export function provesItsKey(certificate: Buffer, transcript: readonly HandshakeMessage[]): boolean {
  const proof = transcript.find(({ msg_type }) => msg_type === CERTIFICATE_VERIFY)?.fragment;
  if (proof === undefined || proof.length < 4) return false;
  const hash = HASHES[proof[0] as number];
  const signature = proof.subarray(4, 4 + proof.readUInt16BE(2));
  if (hash === undefined) return false;
  const signed = transcript.filter(({ msg_type }) => msg_type !== CERTIFICATE_VERIFY && msg_type !== FINISHED);
  try {
    const key = new X509Certificate(certificate).publicKey;
    return verify(hash, Buffer.concat(signed.map((message) => message.serialize())), key, signature);
  } catch {
    return false;
  }
}
