/** Main of the child process: decodes frames on request, one after the other, and exits with the server. */
import { RequestRejected } from "../../../ipc/channel.ts";
import { connectToParent, sayHello } from "../../../ipc/parent.ts";
import { allowConnections, closeAutoplug } from "../../../native/gstreamer.ts";
import { THUMBNAIL_PROTOCOL, ThumbnailRequest } from "../../../schemas/thumbnails.ts";
import { takeThumbnail } from "./take-thumbnail.ts";

closeAutoplug();
allowConnections([]);

connectToParent<never, ThumbnailRequest>({
  program: "a part of Windhover: `windhover serve` starts it",
  receives: ThumbnailRequest,
  onRequest: async ({ path, atNs, isPart, width }) => {
    try {
      const image = await takeThumbnail(path, { atNs: BigInt(atNs), isPart, width });
      return { jpeg: Buffer.from(image).toString("base64") };
    } catch (error) {
      throw new RequestRejected("failed", (error as Error).message.slice(0, 500));
    }
  },
});
sayHello(THUMBNAIL_PROTOCOL);
