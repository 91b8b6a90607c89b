/** Why a viewer is not let in; `status` is what HTTP says for it. */
export class WhepRefusal extends Error {
  readonly status: 400 | 406 | 409 | 503;
  constructor(status: WhepRefusal["status"], message: string) {
    super(message);
    this.status = status;
  }
}

/** A packet has one time, and it is that of showing: the other order cannot be told. */
export const REORDERS =
  "This stream has B-frames, which WebRTC cannot carry: use HLS, or encode without them (x264: bframes=0).";
