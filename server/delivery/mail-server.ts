/** The settings of the mail server of this service. */
import type { Config } from "../../schemas/config.ts";
import { readAuthority } from "../net/url.ts";

export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the start, as of `smtps`. */
  readonly isSecure: boolean;
  readonly credentials: { readonly user: string; readonly pass: string } | null;
  readonly from: { readonly name: string; readonly address: string };
}

const PORTS: Readonly<Record<string, number>> = { smtp: 587, smtps: 465 };
const SENDER = /^(?:([^<>"]{0,100})<([^<>\s@]+@[A-Za-z0-9.-]+)>|([^<>\s@]+@[A-Za-z0-9.-]+))$/;

/** Null if there is none, or what is wrong with the settings. */
export function readMailServer({ url, from }: Pick<Config["smtp"], "url" | "from">): MailServer | string | null {
  if (url === null) return null;
  const authority = readAuthority(url);
  if (typeof authority === "string") return `smtp.url is not valid: ${authority}`;
  const { scheme, host, userinfo, rest } = authority;
  const port = authority.port ?? PORTS[scheme];
  if (port === undefined || PORTS[scheme] === undefined || (rest !== "" && rest !== "/"))
    return "smtp.url expects smtp://user:password@host:port or smtps://user:password@host:port";
  const [, name = "", named, bare] = SENDER.exec(from?.trim() ?? "") ?? [];
  const address = named ?? bare;
  if (address === undefined) return "smtp.from expects the address of the sender: alerts@example.org";
  const credentials = userinfo === null ? null : readCredentials(userinfo);
  if (credentials === undefined) return "smtp.url has a % that is not an escape; write it as %25";
  return { host, port, isSecure: scheme === "smtps", credentials, from: { name: name.trim(), address } };
}

function readCredentials(userinfo: string): { readonly user: string; readonly pass: string } | undefined {
  const [user = "", ...pass] = userinfo.split(":");
  try {
    return { user: decodeURIComponent(user), pass: decodeURIComponent(pass.join(":")) };
  } catch {
    return undefined;
  }
}

/** Nothing was accepted. */
export class MailError extends Error {
  /** The server will never accept this mail. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal = false) {
    super(message);
    this.isFinal = isFinal;
  }
}
