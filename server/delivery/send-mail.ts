/** One mail by SMTP (RFC 5321). A file of its own: the library is loaded with the first mail. */
import { isIP } from "node:net";
import MailComposer from "nodemailer/lib/mail-composer";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import type { Config } from "../../schemas/config.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { explainConnectionError } from "../net/explain.ts";
import type { Mail } from "./mail.ts";
import { MailError, type MailServer } from "./mail-server.ts";

export interface MailOptions {
  readonly smtp: Pick<Config["smtp"], "starttls" | "seconds">;
  readonly signal: AbortSignal;
  /** Certificates to trust instead of the public ones. */
  readonly authorities?: string | undefined;
}

/** What the server said of the recipients. Those in none of the lists may be tried again. */
export interface MailResult {
  readonly accepted: readonly string[];
  /** With 5xx: they will never be accepted. */
  readonly rejected: readonly string[];
  /** Of those that were not accepted, for the user. */
  readonly reason: string | null;
}

interface SmtpError extends Error {
  readonly code?: string;
  /** Of the system, such as ECONNREFUSED. */
  readonly originalCode?: string;
  readonly responseCode?: number;
  readonly command?: string;
  readonly recipient?: string;
  readonly rejectedErrors?: readonly SmtpError[];
}

/** Connects, sends one mail and disconnects, all within the time limit. Rejects with `MailError`. */
export async function sendMail(
  server: MailServer,
  mail: Mail,
  to: readonly string[],
  { smtp, signal, authorities }: MailOptions,
): Promise<MailResult> {
  const { host, port, isSecure, credentials, from } = server;
  const message = await new MailComposer({
    ...{ from, to: to.map((address) => ({ name: "", address })), subject: mail.subject, text: mail.text },
    messageId: mail.messageId,
    // Nobody waits for an answer, such as "out of office" (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated" },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  })
    .compile()
    .build();
  const limitMs = smtp.seconds * 1000;
  const connection = new SMTPConnection({
    ...{ host, port, secure: isSecure, requireTLS: smtp.starttls === "required" && !isSecure },
    ...{ ignoreTLS: smtp.starttls === "never", logger: false, maxResponseSize: 65_536 },
    ...{ connectionTimeout: limitMs, greetingTimeout: limitMs, socketTimeout: limitMs, dnsTimeout: limitMs },
    tls: { ...(isIP(host) === 0 && { servername: host }), ...(authorities !== undefined && { ca: authorities }) },
  });
  return new Promise<MailResult>((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      act();
    };
    const fail = (error: SmtpError): void =>
      settle(() => {
        reject(error instanceof MailError ? error : explain(error));
        connection.close();
      });
    const abort = (): void => fail(new MailError("it was aborted"));
    const timer = setTimeout(
      () => fail(new MailError(`the mail server did not answer within ${smtp.seconds} s`)),
      limitMs,
    );
    // It may emit more than one, and also after the end.
    connection.on("error", fail);
    connection.once("end", () => fail(new MailError("the mail server closed the connection")));
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    const send = (): void =>
      connection.send({ from: from.address, to: [...to] }, message, (error, info) => {
        // That all recipients are rejected is an answer, too.
        const { rejectedErrors = [] } = (error ?? info) as Pick<SmtpError, "rejectedErrors">;
        if (error && rejectedErrors.length === 0) return fail(error as SmtpError);
        settle(() => {
          resolve(readResult(to, rejectedErrors));
          connection.quit();
        });
      });
    connection.connect((error) => {
      if (error) fail(error as SmtpError);
      else if (credentials === null) send();
      else
        connection.login(
          { user: credentials.user, credentials: { user: credentials.user, pass: credentials.pass } },
          (refused) => (refused ? fail(refused as SmtpError) : send()),
        );
    });
  });
}

function readResult(to: readonly string[], errors: readonly SmtpError[]): MailResult {
  const failed = new Set(errors.map(({ recipient }) => recipient));
  return {
    accepted: to.filter((address) => !failed.has(address)),
    rejected: errors.filter(isPermanent).map(({ recipient = "" }) => recipient),
    reason: errors[0] === undefined ? null : `${errors[0].recipient}: ${explain(errors[0]).message}`,
  };
}

const isPermanent = ({ responseCode = 0 }: SmtpError): boolean => responseCode >= 500 && responseCode <= 599;

const MAX_REASON = 300;
/** By code of the library. The host is not named: it belongs to the operator. */
const REASONS: Readonly<Record<string, string>> = {
  EAUTH: "it rejects the login of this service (smtp.url)",
  EDNS: "its name cannot be resolved (smtp.url)",
  ETLS: "TLS failed: check its certificate and smtp.starttls",
  ECONNECTION: "it cannot be reached",
  ESOCKET: "it cannot be reached",
  ETIMEDOUT: "it does not answer",
};

/** A login or sender that is rejected is for the operator to fix: mails wait for that. */
function explain(error: SmtpError): MailError {
  const { code = "", originalCode, command = "", responseCode, message } = error;
  const isContent = !/^(?:AUTH|MAIL|EHLO|HELO|STARTTLS|CONN)/.test(command) && code !== "EAUTH";
  const isAnswer = responseCode !== undefined && code !== "EAUTH";
  const cause = Object.assign(new Error(message), { code: originalCode });
  const reason =
    explainConnectionError(cause) ??
    (isAnswer ? null : REASONS[code]) ??
    maskCredentials(message.replace(/\s+/g, " ")).slice(0, MAX_REASON);
  return new MailError(`mail server: ${reason}`, isPermanent(error) && isContent);
}
