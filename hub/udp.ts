import { type BindOptions, createSocket, type Socket, type SocketOptions } from "node:dgram";
import { once } from "node:events";

/** A large picture is one burst of packets; the system may allow less. */
const BUFFER_BYTES = 4 * 2 ** 20;

/** A UDP socket with large buffers. Rejects if it cannot be bound. */
export async function bindUdp(options: SocketOptions, to: BindOptions): Promise<Socket> {
  const socket = createSocket(options);
  try {
    const listening = once(socket, "listening");
    socket.bind(to);
    await listening;
  } catch (error) {
    socket.close();
    throw error;
  }
  // Sends to a receiver that has disappeared fail; sessions detect that by other means.
  socket.on("error", () => {});
  for (const set of ["setRecvBufferSize", "setSendBufferSize"] as const) {
    try {
      socket[set](BUFFER_BYTES);
    } catch {
      // The system's default is sufficient.
    }
  }
  return socket;
}
