import { maskCredentials } from "../../schemas/mask.ts";
import type { Address } from "./client.ts";
import { DatabaseFault } from "./fault.ts";

const EXAMPLE = "postgres://user:password@host:5432/name, or postgres:///name?host=/folder/of/socket&user=user";
const SSL_MODES = {
  disable: false,
  allow: "prefer",
  prefer: "prefer",
  require: "require",
  "verify-ca": "verify-full",
  "verify-full": "verify-full",
} as const;

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const isSslMode = (text: string): text is keyof typeof SSL_MODES => Object.hasOwn(SSL_MODES, text);

/** Reads it as libpq does: `host`, `port`, `user`, `password` may be parameters too, a host with a slash is a folder. */
export function readDatabaseUrl(text: string): Address {
  const refuse = (reason: string) =>
    new DatabaseFault(`The database's URL ${reason}: "${maskCredentials(text)}". Expected ${EXAMPLE}.`);
  if (!/^postgres(ql)?:\/\//.test(text)) throw refuse("does not begin with postgres://");
  if (!URL.canParse(text)) throw refuse("cannot be read (a special character in the password must be %-encoded)");
  const url = new URL(text);
  const given = new Map(url.searchParams);
  const take = (name: string): string | undefined => {
    const value = given.get(name);
    given.delete(name);
    return value === "" ? undefined : value;
  };
  const host = take("host") ?? (decode(url.hostname).replace(/^\[(.*)\]$/, "$1") || "localhost");
  const port = Number(take("port") ?? (url.port || "5432"));
  const user = take("user") ?? (decode(url.username) || "postgres");
  const password = take("password") ?? (decode(url.password) || null);
  const mode = take("sslmode") ?? "prefer";
  if (!isSslMode(mode))
    throw refuse(`has the sslmode "${mode}", which is none of ${Object.keys(SSL_MODES).join(", ")}`);
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw refuse("has a port that is no port");
  return {
    host,
    port,
    user,
    password,
    database: decode(url.pathname.slice(1)) || user,
    ssl: host.startsWith("/") ? false : SSL_MODES[mode],
    parameters: Object.fromEntries(given),
  };
}
