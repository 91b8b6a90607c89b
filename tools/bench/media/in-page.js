/** Runs in the tested pages: reads the frames that their video presents. */

// tsx adds calls of it to functions, also to those that are sent to a page.
globalThis.__name = (value) => value;

/** The next `count` frames; `reader` is the text of the function that reads a time code. */
globalThis.watchFrames = ({ count, reader, limitMs }) =>
  new Promise((resolve, reject) => {
    const read = new Function(`return ${reader}`)();
    const video = document.querySelector("video");
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const shown = [];
    const timer = setTimeout(() => reject(new Error(`${shown.length} of ${count} frames were shown`)), limitMs);
    // When the player closes a connection that stalled, the browser presents a black picture.
    const isPlaying = () => video.srcObject?.getTracks().every(({ readyState }) => readyState === "live") ?? true;
    const onFrame = (_now, { width, height, presentedFrames }) => {
      if (!isPlaying()) {
        video.requestVideoFrameCallback(onFrame);
        return;
      }
      const atMs = Date.now();
      canvas.width = width;
      canvas.height = height;
      context.drawImage(video, 0, 0);
      const { data } = context.getImageData(0, 0, width, height);
      shown.push({ atMs, code: read({ data, width, height, step: 4 }), count: presentedFrames, width });
      if (shown.length < count) {
        video.requestVideoFrameCallback(onFrame);
        return;
      }
      clearTimeout(timer);
      resolve(shown);
    };
    video.requestVideoFrameCallback(onFrame);
  });

globalThis.countSoundBytes = () => document.querySelector("video").webkitAudioDecodedByteCount;
