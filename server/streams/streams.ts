/** Everything that goes on for as long as a process does: websockets, feed, events. */
import type { Config } from "../../schemas/config.ts";
import type { Authenticate } from "../keys/authenticate.ts";
import type { Processes } from "../processes/processes.ts";
import { Sockets } from "./sockets.ts";
import type { UpgradeHook } from "./upgrade.ts";
import { Watching } from "./watching.ts";

export interface StreamsNeeds {
  readonly config: Config["streams"];
  readonly processes: Pick<Processes, "follow" | "watch" | "openTelemetry" | "expectOffer">;
  readonly authenticate: Authenticate;
}

export class Streams {
  readonly upgrade: UpgradeHook;
  readonly watching: Watching;
  readonly #sockets: Sockets;

  constructor(needs: StreamsNeeds) {
    this.#sockets = new Sockets(needs);
    this.watching = new Watching(needs);
    this.upgrade = this.#sockets.upgrade;
  }

  /** Every client is told; gone within `streams.close_seconds`. To be closed before the processes are. */
  async close(): Promise<void> {
    this.watching.close();
    await this.#sockets.close();
  }
}
