import { IncomingMessage } from "node:http";

/**
 * A request that may ask for websockets and for nothing else. Java's HTTP client and `curl --http2` offer `Upgrade: h2c`
 * with requests of every kind: they are to be answered as if they had not.
 */
export class ApiRequest extends IncomingMessage {
  // No private field: the constructor of `IncomingMessage` sets `upgrade` before there could be one.
  declare private isUpgrade: boolean | undefined;

  set upgrade(value: boolean | null) {
    this.isUpgrade = value === true;
  }

  /** Read by Node when the headers are there: false makes it go on with HTTP. */
  get upgrade(): boolean {
    const isWebsocket = this.headers.upgrade?.toLowerCase() === "websocket";
    return this.isUpgrade === true && (isWebsocket || this.method === "CONNECT");
  }
}
