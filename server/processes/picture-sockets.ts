/** Where runners send pictures: a Unix socket a process, in a folder that only this user may enter. */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { PictureReader } from "../../schemas/picture-stream.ts";
import { makeSocketFolder } from "../socket-folder.ts";
import type { Picture } from "./processes.ts";

const PREFIX = "windhover-pictures-";

/** `attachment`: which one it comes from. */
type OnPicture = (attachment: string, picture: Picture) => void;

export interface PictureSocket {
  readonly path: string;
  close(): void;
}

export class PictureSockets {
  readonly #folder: string;
  readonly #sockets = new Set<PictureSocket>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(): Promise<PictureSockets> {
    return new PictureSockets(await makeSocketFolder(PREFIX));
  }

  /** Of one process, for as many runners as it takes; the latest connection counts. */
  async listen(onPicture: OnPicture): Promise<PictureSocket> {
    const path = join(this.#folder, randomUUID().slice(0, 13));
    let current: Socket | undefined;
    const server = createServer((connection) => {
      current?.destroy();
      current = connection;
      readPictures(connection, onPicture);
    });
    await startListening(server, path);
    const socket: PictureSocket = {
      path,
      close: () => {
        server.close();
        current?.destroy();
        this.#sockets.delete(socket);
      },
    };
    this.#sockets.add(socket);
    return socket;
  }

  async close(): Promise<void> {
    for (const socket of [...this.#sockets]) socket.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function readPictures(connection: Socket, onPicture: OnPicture): void {
  const reader = new PictureReader();
  connection.on("error", () => {}); // `close` follows
  connection.on("data", (chunk) => {
    try {
      for (const { captureMs, attachment, bytes } of reader.read(chunk)) onPicture(attachment, { captureMs, bytes });
    } catch {
      // What follows cannot be understood either; a sound runner connects again.
      connection.destroy();
    }
  });
}

function startListening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      server.on("error", () => {});
      resolve();
    });
  });
}
