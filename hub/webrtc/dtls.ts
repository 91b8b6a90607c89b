/** The typed surface of build/dtls.node (native/dtls/dtls.cc), and the only file that loads it. */
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

export interface DtlsReport {
  readonly state: "handshaking" | "connected" | "closed" | "failed";
  /** Of a session that failed, in the words of OpenSSL. */
  readonly error: string;
  /** To be sent, in this order. */
  readonly datagrams: readonly Buffer[];
}

/** Anything may be received; nothing is thrown for it. */
export interface DtlsSession {
  receive(datagram: Buffer): DtlsReport;
  /** Sends again what was not answered. */
  handleTimeout(): DtlsReport;
  /** Milliseconds until `handleTimeout` is due; null: nothing waits for an answer. */
  timeoutMs(): number | null;
  close(): DtlsReport;
  /** DER. The client has proven that it holds its key once the session is connected. */
  peerCertificate(): Buffer | null;
  /** Keys of SRTP (RFC 5764, 4.2) and the number of the profile; null: the client offers none that is known here. */
  exportKeys(): { readonly profile: number; readonly keys: Buffer } | null;
}

interface Addon {
  createContext(): { readonly context: object; readonly certificate: Buffer };
  readonly Session: new (context: object) => DtlsSession;
}

/** What all sessions of a hub share: a certificate made for this run, known to browsers by its fingerprint in the answer. */
export interface DtlsIdentity {
  /** SHA-256, upper case with colons. */
  readonly fingerprint: string;
  createSession(): DtlsSession;
}

export function createIdentity(): DtlsIdentity {
  const file = process.env.WINDHOVER_DTLS_ADDON ?? fileURLToPath(new URL("../../build/dtls.node", import.meta.url));
  const { createContext, Session } = createRequire(import.meta.url)(file) as Addon;
  const { context, certificate } = createContext();
  return { fingerprint: printFingerprint(certificate, "sha-256"), createSession: () => new Session(context) };
}

/** As SDP writes it. `algorithm` is one of `sha-256`, `sha-384`, `sha-512`. */
export const printFingerprint = (certificate: Buffer, algorithm: string): string =>
  (createHash(algorithm.replace("-", "")).update(certificate).digest("hex").toUpperCase().match(/../g) ?? []).join(":");
