/** Images to the server over a separate socket. While it is blocked, only the latest image is kept. */
import { Socket } from "node:net";
import { encodePictureHead, MOST_PICTURE_BYTES, type StreamedPicture } from "../../../schemas/picture-stream.ts";
import { PICTURES } from "../../../schemas/runner.ts";

export class PictureSocket {
  #socket: Socket | null = null;
  #writable = false;
  #waiting: StreamedPicture | null = null;
  #hasFailed = false;

  /** False when this image or the one before it was dropped. Never blocks. */
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
      // The server provided no socket.
      this.#hasFailed = true;
      return false;
    }
    this.#socket.on("drain", () => this.#onDrain());
    this.#socket.on("error", () => {}); // `close` follows
    this.#socket.on("close", () => this.#onClose());
    this.#writable = true;
    return true;
  }

  #onDrain(): void {
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

  /** The server closed the socket. */
  #onClose(): void {
    this.#socket = null;
    this.#waiting = null;
    this.#hasFailed = true;
  }
}
