/** Connections for events: UDP datagrams to a host or multicast group, streams to a TAK server, MQTT to a broker. */
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, isIP, isIPv6, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { MqttClient } from "mqtt";
import type { TakTarget, UdpTarget } from "../../schemas/cot-target.ts";
import type { Link, OpenLink } from "./outlet.ts";

const CLOSED_HERE = "the element was closed";

/** One datagram per event. `address`: IP address to use instead of resolving the host. */
export const openUdp =
  ({ host, port, ttl }: UdpTarget, address: string | null): OpenLink =>
  async (signal): Promise<Link> => {
    const ip = address ?? (await resolve(host));
    const socket = createSocket(isIPv6(ip) ? "udp6" : "udp4");
    try {
      socket.bind(0);
      await once(socket, "listening", { signal });
      socket.setMulticastTTL(ttl);
    } catch (error) {
      socket.close();
      throw error;
    }
    let onClosed = (_reason: string): void => {};
    const closed = new Promise<string>((resolve) => {
      onClosed = resolve;
    });
    let isOpen = true;
    const end = (reason: string): void => {
      if (!isOpen) return;
      isOpen = false;
      socket.close(() => onClosed(reason));
    };
    socket.on("error", (error) => end(explain(error, host)));
    signal.addEventListener("abort", () => end(CLOSED_HERE), { once: true });
    return {
      closed,
      send({ payload }, done) {
        if (!isOpen) return;
        socket.send(payload, port, ip, (error) => done(error === null ? null : new Error(explain(error, host))));
      },
      async close() {
        end(CLOSED_HERE);
        await closed;
      },
    };
  };

async function resolve(host: string): Promise<string> {
  try {
    return (await lookup(host)).address;
  } catch {
    throw new Error(`${host}: ${REASONS.ENOTFOUND}`);
  }
}

export interface TakServer extends TakTarget {
  /** IP address to use instead of resolving the host. */
  readonly address: string | null;
  /** PEM; null: the public ones. */
  readonly authorities: string | null;
  /** In the certificate of the server; null: the host. */
  readonly serverName: string | null;
  /** Of this client, PEM. */
  readonly certificate: string | null;
  readonly key: string | null;
}

/** After the handshake a server may still reject the certificate of the client, until it has sent something. */
const ACCEPTED_MS = 2_000;

/** Events one after the other, as TAK's protocol version 0. What the server sends is not read. */
export const openTak =
  (server: TakServer): OpenLink =>
  async (signal): Promise<Link> => {
    const { host } = server;
    const socket = connectToServer(server);
    let reason: string | null = null;
    let hasReceived = false;
    socket.once("data", () => {
      hasReceived = true;
    });
    socket.on("error", (error) => {
      reason ??= explain(error, host);
    });
    const drop = (): void => void socket.destroy();
    signal.addEventListener("abort", drop, { once: true });
    const closed = new Promise<string>((resolve) => {
      socket.once("close", () => {
        signal.removeEventListener("abort", drop);
        const hint = server.scheme === "tls" && !hasReceived ? "; it may not accept the client certificate" : "";
        resolve(`${reason ?? `${host}: ${REASONS.ECONNRESET}`}${reason === null ? hint : ""}`);
      });
    });
    socket.setTimeout(CONNECT_MS, () => socket.destroy(Object.assign(new Error(), { code: "ETIMEDOUT" })));
    await Promise.race([
      accepted(socket, server.scheme === "tls"),
      closed.then((why) => Promise.reject(new Error(why))),
    ]);
    socket.setTimeout(0);
    socket.setKeepAlive(true, KEEPALIVE_SECONDS * 1000);
    return {
      closed,
      send: ({ payload }, done) =>
        void socket.write(payload, (error) => {
          // Events lost with the connection are reported by `closed`.
          if (error == null) done(null);
        }),
      async close() {
        socket.end();
        await closed;
      },
    };
  };

function connectToServer({ scheme, host, port, address, ...server }: TakServer): Socket {
  const to = { host: address ?? host, port, noDelay: true, autoSelectFamily: true };
  const { authorities, serverName, certificate, key } = server;
  const name = serverName ?? host;
  const socket =
    scheme === "tcp"
      ? connect(to)
      : connectTls({
          ...to,
          ...(authorities !== null && { ca: authorities }),
          ...(certificate !== null && { cert: certificate }),
          ...(key !== null && { key }),
          ...(isIP(name) === 0 && { servername: name }),
        });
  socket.resume();
  return socket;
}

/**
 * With TLS, when the server has accepted the certificate of the client: then it sends a session ticket or data. Stays
 * pending when the connection closes before.
 */
async function accepted(socket: Socket, isSecure: boolean): Promise<void> {
  await new Promise<void>((resolve) => socket.once(isSecure ? "secureConnect" : "connect", resolve));
  if (!isSecure || (socket as TLSSocket).getProtocol() !== "TLSv1.3") return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ACCEPTED_MS);
    const go = (): void => {
      clearTimeout(timer);
      resolve();
    };
    socket.once("session", go);
    socket.once("data", go);
    socket.once("close", () => clearTimeout(timer));
  });
}

const KEEPALIVE_SECONDS = 15;
const CONNECT_MS = 10_000;
/** "Unacceptable protocol version" in 3.1.1 and in 5. */
const VERSION_CODES = [1, 132];
/** A client without subscriptions receives only acknowledgements and ping responses. */
const RECEIVE_LIMIT = { initialBytes: 65_536, bytesPerEvent: 64, bytesPerSecond: 64 };

export interface MqttBroker {
  readonly host: string;
  readonly port: number;
  /** By TLS, with a certificate for the host. */
  readonly isSecure?: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly qos: 0 | 1 | 2;
  /** Certificates to trust instead of the public ones: for tests. */
  readonly authorities?: string;
}

/** `address`: IP address to use instead of resolving the host. */
export function openMqtt(target: MqttBroker, address: string | null): OpenLink {
  // 3.1.1 first: brokers that support only 5 are rare.
  let version: 4 | 5 = 4;
  return (signal) => {
    let socket: Socket | null = null;
    const open = (): Socket => {
      socket = connectTo(target, address);
      return socket;
    };
    const client = new MqttClient(open, clientOptions(target, version));
    let reason: string | null = null;
    let isConnected = false;
    client.once("connect", () => {
      isConnected = true;
    });
    const end = (): void => void client.end(true);
    // `end(true)` has no effect while a graceful `end(false)` is pending: destroy the socket too.
    const drop = (): void => {
      end();
      socket?.destroy();
    };
    signal.addEventListener("abort", drop, { once: true });
    client.on("error", (error) => {
      if (VERSION_CODES.includes(Number((error as { code?: unknown }).code))) version = version === 4 ? 5 : 4;
      reason ??= explain(error, target.host);
    });
    const closed = new Promise<string>((resolve) => {
      client.once("close", () => {
        signal.removeEventListener("abort", drop);
        end();
        // Some brokers close the connection without CONNACK for an unsupported version.
        if (!isConnected && reason === null && !signal.aborted) version = version === 4 ? 5 : 4;
        resolve(reason ?? `${target.host}: the broker closed the connection`);
      });
    });
    return new Promise<Link>((resolve, reject) => {
      void closed.then((why) => reject(new Error(why)));
      client.once("connect", () => resolve(makeLink(client, socket, target, closed)));
    });
  };
}

function connectTo({ host, port, isSecure, authorities }: MqttBroker, address: string | null): Socket {
  const to = { host: address ?? host, port, noDelay: true, autoSelectFamily: true };
  if (isSecure !== true) return connect(to);
  const ca = authorities === undefined ? {} : { ca: authorities };
  return connectTls({ ...to, ...ca, ...(isIP(host) === 0 && { servername: host }) });
}

function makeLink(client: MqttClient, socket: Socket | null, target: MqttBroker, closed: Promise<string>): Link {
  const { qos, host } = target;
  const openedMs = performance.now();
  let events = 0;
  socket?.on("data", () => {
    const { initialBytes, bytesPerEvent, bytesPerSecond } = RECEIVE_LIMIT;
    const limit = initialBytes + events * bytesPerEvent + ((performance.now() - openedMs) / 1000) * bytesPerSecond;
    if (socket.bytesRead <= limit) return;
    const error = new Error("the server sends more data than an MQTT broker would");
    socket.destroy(Object.assign(error, { code: "EPROTO" }));
  });
  return {
    closed,
    send({ topic, payload, isRetained = false }, done) {
      events++;
      client.publish(topic, payload, { qos, retain: isRetained }, (error) => {
        // Events lost with the connection are reported by `closed`.
        if (error === undefined || error === null) done(null);
        else if (client.connected) done(new Error(explain(error, host)));
      });
    },
    async close() {
      client.end(false);
      await closed;
    },
  };
}

/** A new object per client: the client modifies it. */
const clientOptions = ({ username, password }: MqttBroker, protocolVersion: 4 | 5) => ({
  protocolVersion,
  clientId: `windhover-${randomBytes(8).toString("hex")}`,
  clean: true,
  ...(username !== undefined && { username }),
  ...(password !== undefined && { password }),
  keepalive: KEEPALIVE_SECONDS,
  connectTimeout: CONNECT_MS,
  // `EventOutlet` reconnects, with backoff.
  reconnectPeriod: 0,
  resubscribe: false,
  queueQoSZero: false,
});

/** By error code of the socket, or by return code of the broker in MQTT 3.1.1 and 5. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused; check that the server is running",
  ECONNRESET: "the server closed the connection",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  ETIMEDOUT: "no response",
  EACCES: "this machine is not permitted to send there",
  EPERM: "this machine is not permitted to send there",
  ENOTFOUND: "host name not found",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: "the server requires a client certificate",
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: "the server rejects the client certificate",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: "the server rejects the client certificate: it has expired",
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: "the server rejects the client certificate: it does not know its authority",
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: "the server rejects the TLS connection; does it need a client certificate?",
  ERR_SSL_WRONG_VERSION_NUMBER: "the server does not use TLS at this port",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate of the server is for another name; set its name (server_name)",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate of the server is not trusted; set its authorities",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate of the server is not trusted; set its authorities",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate of the server is not trusted; set its authorities",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate of the server is not trusted; set its authorities",
  CERT_HAS_EXPIRED: "the certificate of the server has expired",
  EAI_AGAIN: "host name lookup failed temporarily",
  1: "unsupported MQTT version",
  4: "wrong username or password",
  5: "not authorized",
  132: "unsupported MQTT version",
  134: "wrong username or password",
  135: "not authorized",
};

function explain(error: Error, host: string): string {
  const { code, errors } = error as { code?: unknown; errors?: readonly { code?: unknown }[] };
  const known = REASONS[String(code)] ?? REASONS[String(errors?.[0]?.code)];
  return `${host}: ${known ?? (error.message === "connack timeout" ? REASONS.ETIMEDOUT : error.message)}`;
}
