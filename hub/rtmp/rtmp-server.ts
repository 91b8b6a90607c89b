/** RTMP, for publishers alone. */
import { createServer } from "node:net";
import { type RtmpParts, RtmpSession } from "./session.ts";

export interface RtmpServer {
  /** The one it listens on. */
  readonly port: number;
  close(): Promise<void>;
}

/** Rejects when it cannot listen. */
export async function openRtmp(
  parts: RtmpParts & { readonly host: string; readonly port: number },
): Promise<RtmpServer> {
  const sessions = new Set<RtmpSession>();
  const server = createServer((socket) => {
    const release = parts.connections.admit(socket.remoteAddress);
    if (release === null) {
      socket.on("error", () => {}).destroy();
      return;
    }
    const session = new RtmpSession(socket, parts);
    sessions.add(session);
    socket.on("close", () => {
      release();
      sessions.delete(session);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: parts.host, port: parts.port }, resolve);
  });
  server.on("error", (error) =>
    parts.log("error", "rtmp: a connection could not be accepted", { error: error.message }),
  );
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the RTMP server has no port");
  return {
    port: address.port,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close("the media server is shutting down");
      await closed;
    },
  };
}
