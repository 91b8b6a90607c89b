/** Pictures to the server, over a socket of their own. The latest wins: one that does not fit any more is dropped. */
import { connect, type Socket } from "node:net";
import { encodePictureHead, MOST_PICTURE_BYTES, type StreamedPicture } from "../../../schemas/picture-stream.ts";

/** After a failure it is tried again with a picture that comes later than this. */
const AGAIN_MS = 500;

export class PictureSocket {
  readonly #path: string;
  #socket: Socket | null = null;
  #writable = false;
  #waiting: StreamedPicture | null = null;
  #failedMs = Number.NEGATIVE_INFINITY;

  constructor(path: string) {
    this.#path = path;
  }

  /** False when a picture, this one or the one before it, was dropped. Never waits. */
  show(picture: StreamedPicture): boolean {
    if (picture.bytes.length > MOST_PICTURE_BYTES / 2) return false;
    if (this.#socket === null && !this.#connect()) return false;
    if (this.#writable) {
      this.#write(picture);
      return true;
    }
    const isFirst = this.#waiting === null;
    this.#waiting = picture;
    return isFirst;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #connect(): boolean {
    if (performance.now() - this.#failedMs < AGAIN_MS) return false;
    const socket = connect(this.#path);
    this.#socket = socket;
    this.#writable = false;
    socket.on("connect", () => this.#go());
    socket.on("drain", () => this.#go());
    socket.on("error", () => {}); // `close` follows
    socket.on("close", () => this.#forget(socket));
    socket.resume(); // nothing is expected; its end is
    return true;
  }

  #go(): void {
    this.#writable = true;
    const picture = this.#waiting;
    this.#waiting = null;
    if (picture !== null) this.#write(picture);
  }

  #write(picture: StreamedPicture): void {
    const socket = this.#socket;
    if (socket === null) return;
    socket.cork();
    socket.write(encodePictureHead(picture));
    this.#writable = socket.write(picture.bytes);
    socket.uncork();
  }

  #forget(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#waiting = null;
    this.#failedMs = performance.now();
  }
}
