/** A real SMTP server with STARTTLS and a login, whose answers are chosen by the test. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { SMTPServer } from "smtp-server";

export interface ReceivedMail {
  readonly to: readonly string[];
  readonly isEncrypted: boolean;
  readonly user: string | null;
  /** Header fields by name in lower case, unfolded and decoded. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

export interface SmtpAnswers {
  /** The code for a recipient; undefined: accepted. */
  recipient?(address: string, earlier: number): number | undefined;
  /** The code for a mail; undefined: accepted. `hang`: there is none. */
  data?(earlier: number): number | "hang" | "lost" | undefined;
}

export interface MailBox {
  readonly port: number;
  /** Of the server's certificate, for `localhost`. */
  readonly authority: string;
  readonly received: ReceivedMail[];
  answers: SmtpAnswers;
  /** Ends it and all its connections. */
  stop(): Promise<void>;
  /** On the same port. */
  start(): Promise<void>;
}

export const USER = "windhover";
export const PASSWORD = "p@ss word";

function makeCertificate(): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "windhover-smtp-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const how = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const name = ["-subj", "/CN=mail", "-addext", "subjectAltName=DNS:localhost"];
  execFileSync("openssl", [...how, ...name, "-keyout", key, "-out", cert], { stdio: "ignore" });
  return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
}

const refusal = (code: number): Error => Object.assign(new Error(`answer ${code}`), { responseCode: code });

/** Stopped with the test. */
export async function openMailBox(
  options: { readonly hasTls?: boolean; readonly isSecure?: boolean } = {},
): Promise<MailBox> {
  const { hasTls = true, isSecure = false } = options;
  const { key, cert } = makeCertificate();
  const received: ReceivedMail[] = [];
  const seen = new Map<string, number>();
  let mails = 0;
  let port = 0;
  let server: SMTPServer | null = null;
  const count = (address: string): number => {
    const earlier = seen.get(address) ?? 0;
    seen.set(address, earlier + 1);
    return earlier;
  };
  const box: MailBox = {
    get port() {
      return port;
    },
    ...{ authority: cert, received, answers: {} },
    async start() {
      server = new SMTPServer({
        ...{ key, cert, secure: isSecure, authOptional: true, closeTimeout: 100, disableReverseLookup: true },
        ...(hasTls ? {} : { disabledCommands: ["STARTTLS"], allowInsecureAuth: true }),
        onAuth({ username, password }, _session, done) {
          if (username === USER && password === PASSWORD) done(null, { user: username });
          else done(new Error("wrong user or password"));
        },
        onRcptTo({ address }, _session, done) {
          const code = box.answers.recipient?.(address, count(address));
          done(code === undefined ? null : refusal(code));
        },
        onData(stream, session, done) {
          const chunks: Buffer[] = [];
          stream.on("data", (chunk: Buffer) => chunks.push(chunk));
          stream.on("end", () => {
            const answer = box.answers.data?.(mails++);
            if (answer === "hang") return;
            if (typeof answer === "number") return done(refusal(answer));
            received.push(readMail(Buffer.concat(chunks).toString("utf8"), session));
            // Accepted, but the answer is lost with the connection.
            if (answer === "lost") void box.stop();
            else done(null);
          });
        },
      });
      server.on("error", () => {});
      const listening = server.listen(port, "localhost");
      await once(listening, "listening");
      port = (listening.address() as AddressInfo).port;
    },
    async stop() {
      const ended = server;
      server = null;
      if (ended === null) return;
      await new Promise<void>((resolve) => ended.close(() => resolve()));
    },
  };
  await box.start();
  after(() => box.stop());
  return box;
}

interface Session {
  readonly envelope: { readonly rcptTo: readonly { readonly address: string }[] };
  readonly secure: boolean;
  readonly user?: unknown;
}

function readMail(raw: string, { envelope, secure, user }: Session): ReceivedMail {
  const at = raw.indexOf("\r\n\r\n");
  const lines = raw
    .slice(0, at)
    .replace(/\r\n[ \t]+/g, " ")
    .split("\r\n");
  const headers = new Map(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      decodeWords(line.slice(line.indexOf(":") + 2)),
    ]),
  );
  const encoding = headers.get("content-transfer-encoding");
  const body = raw.slice(at + 4).replaceAll("\r\n", "\n");
  assert.ok(encoding !== undefined && ["7bit", "quoted-printable", "base64"].includes(encoding), encoding);
  const text =
    encoding === "base64"
      ? Buffer.from(body, "base64").toString("utf8")
      : encoding === "7bit"
        ? body
        : decodeQuoted(body.replaceAll("=\n", ""));
  const to = envelope.rcptTo.map(({ address }) => address);
  return { to, isEncrypted: secure, user: typeof user === "string" ? user : null, headers, text };
}

const decodeQuoted = (text: string): string =>
  Buffer.from(
    text.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  ).toString("utf8");

/** RFC 2047. */
const decodeWords = (text: string): string =>
  text
    .replace(/\?= =\?/g, "?==?")
    .replace(/=\?UTF-8\?([BQ])\?([^?]*)\?=/gi, (_, kind: string, word: string) =>
      kind.toUpperCase() === "B"
        ? Buffer.from(word, "base64").toString("utf8")
        : decodeQuoted(word.replaceAll("_", " ")),
    );
