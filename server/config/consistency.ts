/** Checks that the schemas of single keys cannot express. */
import { accessSync, constants, statSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import type { Config } from "../../schemas/config.ts";
import { readMailServer } from "../delivery/mail-server.ts";
import { readPortRange } from "../net/addresses.ts";
import { EXPECTED_KEYS, readKeys } from "../store/sealing/keyring.ts";
import type { ConfigFault } from "./keys.ts";
import { readTileSource } from "./tile-source.ts";

/**
 * @param whereOf where a key was set
 * @param invalid keys with faults reported already: the configuration has their defaults instead
 */
export function checkConsistency(
  config: Config,
  whereOf: (name: string) => string,
  invalid: ReadonlySet<string>,
): readonly ConfigFault[] {
  const { secrets, http, database, network, media, webrtc, public_url: publicUrl, bootstrap_key: key } = config;
  const faults: ConfigFault[] = [];
  /** `other`: the key that it must be consistent with. */
  const expect = (name: string, holds: boolean, message: string, other = name): void => {
    if (holds || invalid.has(name) || invalid.has(other)) return;
    faults.push({ where: whereOf(name), message: `${name} ${message}` });
  };
  const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text.replace(/\/$/, "");
  expect("data_dir", config.data_dir.trim() !== "", "is empty; expected the path of a folder");
  expect("secrets.key", secrets.key === null || readKeys(secrets.key) !== null, `expects ${EXPECTED_KEYS}`);
  expect(
    "secrets.key_file",
    secrets.key === null || secrets.key_file === null,
    "and secrets.key are set; set one of them",
    "secrets.key",
  );
  expect(
    "secrets.key_file",
    secrets.key_file === null || canRead(secrets.key_file),
    "names a file that cannot be read",
  );
  expect(
    "bootstrap_key",
    key === null || /^[\x21-\x7e]{16,200}$/.test(key),
    "expects 16 to 200 characters without spaces",
  );
  const mail = readMailServer(config.smtp);
  if (typeof mail === "string" && !invalid.has("smtp.url") && !invalid.has("smtp.from"))
    faults.push({ where: whereOf(mail.startsWith("smtp.from") ? "smtp.from" : "smtp.url"), message: mail });
  const { oidc } = config;
  expect(
    "oidc.issuer",
    oidc.issuer === null || isIssuer(oidc.issuer),
    "expects https://host[/path], or http:// on this machine",
  );
  expect(
    "oidc.client_id",
    oidc.client_id.trim() !== "",
    "is empty; expected the id that the provider has for this service",
  );
  expect(
    "oidc.account",
    oidc.issuer === null || oidc.account !== null || oidc.account_claim !== null,
    "and oidc.account_claim are not set: people need an account to sign in to",
    "oidc.issuer",
  );
  expect(
    "oidc.admins",
    oidc.issuer === null || [...oidc.viewers, ...oidc.operators, ...oidc.admins].length > 0,
    "oidc.operators and oidc.viewers are empty: nobody could sign in",
    "oidc.issuer",
  );
  expect("public_url", publicUrl === null || isPublicUrl(publicUrl), "expects http(s)://host[:port], without a path");
  expect("http.host", http.host.trim() !== "", "is empty; expected an address such as 127.0.0.1 or 0.0.0.0");
  expect(
    "http.tls_cert",
    http.tls_key === null || http.tls_cert !== null,
    "is missing: http.tls_key is set",
    "http.tls_key",
  );
  expect(
    "http.tls_key",
    http.tls_cert === null || http.tls_key !== null,
    "is missing: http.tls_cert is set",
    "http.tls_cert",
  );
  for (const name of ["tls_cert", "tls_key"] as const)
    expect(`http.${name}`, http[name] === null || canRead(http[name]), `names a file that cannot be read`);
  for (const origin of http.cors_origins)
    expect("http.cors_origins", origin === "*" || isOrigin(origin), `has "${origin}"; expected https://host or *`);
  for (const proxy of http.trusted_proxies)
    expect("http.trusted_proxies", isNetwork(proxy), `has "${proxy}"; expected an address or 10.0.0.0/8`);
  for (const key of ["deny", "allow", "allow_devices"] as const)
    for (const entry of network[key])
      expect(`network.${key}`, isNetwork(entry), `has "${entry}"; expected an address or 10.0.0.0/8`);
  expect(
    "database.url",
    database.url === null || isPostgres(database.url),
    "expects postgres://user:password@host/name",
  );
  expect(
    "webrtc.port_last",
    webrtc.port_first <= webrtc.port_last && (webrtc.port_first === 0) === (webrtc.port_last === 0),
    "must not be below webrtc.port_first, and both are 0 or neither is",
    "webrtc.port_first",
  );
  const { s3 } = config.storage;
  expect(
    "storage.s3.bucket",
    s3.bucket === null || /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(s3.bucket),
    "expects the name of a bucket: 3 to 63 letters, digits, dots and hyphens",
  );
  expect(
    "storage.s3.bucket",
    s3.bucket !== null || s3.endpoint === null,
    "is missing: storage.s3.endpoint is set",
    "storage.s3.endpoint",
  );
  expect(
    "storage.s3.endpoint",
    s3.endpoint === null || isEndpoint(s3.endpoint),
    "expects http(s)://host[:port], without credentials",
  );
  expect("storage.s3.region", s3.region.trim() !== "", "is empty; expected a region such as us-east-1");
  expect(
    "storage.s3.prefix",
    /^[A-Za-z0-9!_.*'()-][A-Za-z0-9!_.*'()/-]{0,500}$|^$/.test(s3.prefix) && !/\/\/|(^|\/)\.\.?(\/|$)/.test(s3.prefix),
    "expects a path without a leading slash: `windhover/`",
  );
  const tiles = config.map.tiles === null ? null : readTileSource(config.map.tiles);
  expect("map.tiles", typeof tiles !== "string", String(tiles));
  const { rtsp, rtmp } = config;
  expect(
    "rtmp.port",
    rtmp.port === 0 || rtmp.port !== rtsp.port,
    "equals rtsp.port; expected different ports",
    "rtsp.port",
  );
  const { srt } = config;
  for (const ports of media.source_ports)
    expect("media.source_ports", readPortRange(ports) !== null, `has "${ports}"; expected 5000 or 5000-5010`);
  expect(
    "srt.passphrase",
    srt.passphrase === null || /^[\x20-\x7e]{10,79}$/.test(srt.passphrase),
    "expects 10 to 79 ASCII characters",
  );
  // Not all browsers resolve a name.
  for (const address of webrtc.addresses)
    expect("webrtc.addresses", isIP(address) !== 0, `has "${address}"; expected an IP address, not a name`);
  for (const host of media.hosts)
    expect("media.hosts", isHost(host), `has "${host}"; expected a name or an address, without a port`);
  for (const section of ["graphs", "elements", "models"] as const)
    for (const folder of config[section].folders)
      expect(`${section}.folders`, isFolder(folder), `has "${folder}"; expected an existing folder`);
  return faults;
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const isHost = (text: string): boolean => isIP(text) !== 0 || /^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$/.test(text);

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const isSafe = protocol === "https:" || (protocol === "http:" && LOOPBACK.includes(hostname));
  return isSafe && username === "" && password === "";
}

const isPublicUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname, search, hash, username } = new URL(text);
  return /^https?:$/.test(protocol) && pathname === "/" && search + hash + username === "";
};

const isEndpoint = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, search, hash, username } = new URL(text);
  return /^https?:$/.test(protocol) && search + hash + username === "";
};

const isPostgres = (text: string): boolean => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text);

function canRead(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** `10.0.0.0/8`, `fd00::/8` or one address. */
function isNetwork(text: string): boolean {
  const [address = "", bits, more] = text.split("/");
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  if (bits === undefined) return true;
  if (!/^\d{1,3}$/.test(bits)) return false;
  try {
    new BlockList().addSubnet(address, Number(bits), family === 4 ? "ipv4" : "ipv6");
    return true;
  } catch {
    return false;
  }
}
