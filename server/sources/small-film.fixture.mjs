/** In a box that players skip: the file begins with a film of the size that `FACTS` states. */
export const MARK = "known to be a small film";

/** What the real probe finds in it. */
export const FACTS = {
  ...{ container: "mp4", codec: "video/x-h264", width: 64, height: 48, fps: 30 },
  ...{ duration_ms: 666, start_ms: 0 },
};
