/** Pictures to the server, over a socket of their own. The latest wins: one that does not fit any more is dropped. */
import { Socket } from "node:net";
import { encodePictureHead, MOST_PICTURE_BYTES, type StreamedPicture } from "../../../schemas/picture-stream.ts";
import { PICTURES } from "../../../schemas/runner.ts";

export class PictureSocket {
  #socket: Socket | null = null;
  #writable = false;
  #waiting: StreamedPicture | null = null;
  #hasFailed = false;

  /** False when a picture, this one or the one before it, was dropped. Never waits. */
  show(picture: StreamedPicture): boolean {
    if (picture.bytes.length > MOST_PICTURE_BYTES / 2) return false;
    if (this.#socket === null && !this.#open()) return false;
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

  #open(): boolean {
    if (this.#hasFailed) return false;
    try {
      this.#socket = new Socket({ fd: PICTURES, readable: false, writable: true });
    } catch {
      // Nobody gave us one.
      this.#hasFailed = true;
      return false;
    }
    this.#socket.on("drain", () => this.#go());
    this.#socket.on("error", () => {}); // `close` follows
    this.#socket.on("close", () => this.#forget());
    this.#writable = true;
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

  /** The server is gone, or wants none. */
  #forget(): void {
    this.#socket = null;
    this.#waiting = null;
    this.#hasFailed = true;
  }
}
