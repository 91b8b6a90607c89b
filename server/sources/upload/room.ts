/** What an upload may still take up: of what its user may store, and of the disk. */
import type { Config } from "../../../schemas/config.ts";
import { ServiceError } from "../../service-error.ts";
import type { Sql } from "../../store/client.ts";
import { findLargestVideo, reserveRoom } from "../../store/uploads.ts";
import type { User } from "../../user.ts";
import type { VideoFolder } from "../video-folder.ts";
import { FORM_BYTES } from "./read-form.ts";

interface RoomNeeds {
  readonly sql: Sql;
  readonly config: Config;
  readonly folder: VideoFolder;
  readonly nodeUuid: string;
}

export class UploadRoom {
  readonly #needs: RoomNeeds;
  readonly #uuid: string;
  readonly #user: User;
  readonly #declared: number | null;
  #granted = 0;
  #isReserved = true;

  /** @param declared length of the whole form, if it was told */
  constructor(needs: RoomNeeds, uuid: string, user: User, declared: number | null) {
    this.#needs = needs;
    this.#uuid = uuid;
    this.#user = user;
    this.#declared = declared;
  }

  /** False: it may only be a video that is stored already, since there is no room for another. */
  get isReserved(): boolean {
    return this.#isReserved;
  }

  /** Before the first byte: what is known of the length is taken at once. */
  async begin(): Promise<void> {
    const { videoBytes } = this.#user.limits;
    // With fields and boundaries taken off, this is the least that the file can have.
    const least = Math.max(0, (this.#declared ?? 0) - FORM_BYTES);
    if (least > videoBytes) throw tooLarge(videoBytes);
    // All of it, if it can be had: of two that race for the last room, the first is then sure of it.
    await this.#grow(least, Math.min(videoBytes, this.#declared ?? 0));
  }

  /** Rejects when the file may not have so many bytes. */
  async expect(bytes: number): Promise<void> {
    const { videoBytes, storageBytes } = this.#user.limits;
    if (bytes > videoBytes) throw tooLarge(videoBytes);
    if (bytes <= this.#granted) return;
    if (!this.#isReserved) throw storageFull(storageBytes);
    await this.#grow(bytes, Math.min(videoBytes, bytes + this.#needs.config.uploads.step_bytes));
  }

  async #grow(bytes: number, wanted: number): Promise<void> {
    const { sql, folder, nodeUuid } = this.#needs;
    const atMost = Math.max(bytes, Math.min(wanted, this.#declared ?? wanted));
    await folder.expectRoom(atMost - this.#granted);
    const granted = await reserveRoom(sql, {
      uuid: this.#uuid,
      userUuid: this.#user.uuid,
      nodeUuid,
      atLeast: bytes,
      atMost,
      limit: this.#user.limits.storageBytes,
    });
    this.#granted = granted ?? (await this.#findTwin(bytes));
    this.#isReserved = granted !== null;
  }

  /** The same video again is no new one, and storage that is full does not stand in its way. */
  async #findTwin(bytes: number): Promise<number> {
    const largest = await findLargestVideo(
      this.#needs.sql,
      this.#user.uuid,
      bytes,
      this.#declared ?? Number.MAX_SAFE_INTEGER,
    );
    if (largest === null) throw storageFull(this.#user.limits.storageBytes);
    return largest;
  }
}

const tooLarge = (most: number): ServiceError =>
  new ServiceError("video_too_large", { detail: `a video may have ${most} bytes, and this one has more` });
export const storageFull = (most: number): ServiceError =>
  new ServiceError("storage_limit_reached", {
    detail: `all videos of this key may have ${most} bytes together, and with this one they have more; delete one first (DELETE /source/{source_id})`,
  });
