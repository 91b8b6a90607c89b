/** Why a host cannot be reached: GStreamer's RTSP client says only that it cannot. */
import { connect } from "node:net";

const LIMIT_MS = 2_000;
const PORTS: Readonly<Record<string, number>> = { "rtsp:": 554, "rtsps:": 322, "rtmp:": 1935, "rtmps:": 443 };

/** Null when it can be reached after all. */
export function findReachFault(url: string): Promise<string | null> {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const number = port === "" ? (PORTS[protocol] ?? 0) : Number(port);
  return new Promise((resolve) => {
    const socket = connect({ host, port: number, timeout: LIMIT_MS });
    const settle = (reason: string | null): void => {
      socket.destroy();
      resolve(reason);
    };
    socket.once("connect", () => settle(null));
    socket.once("timeout", () => settle(`${host}:${number} does not answer`));
    socket.once("error", (error: NodeJS.ErrnoException) => settle(describe(error, host, number)));
  });
}

function describe(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case "ECONNREFUSED":
      return `connection refused: nothing listens at ${host}:${port}`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `no host of the name ${host} can be found`;
    case "ECONNRESET":
      return `${host}:${port} cuts the connection off: is this the right port?`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `there is no way to ${host} from here`;
    default:
      return error.message;
  }
}
