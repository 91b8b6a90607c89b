/** Runs in the pages that are tested: looks at the frames that their video really presents. */

// Functions that are sent to a page refer to it: tsx gives functions their names by it.
globalThis.__name = (value) => value;

/** The next so many frames; `reader` is the text of the function that reads a time code. */
globalThis.watchFrames = ({ count, reader, limitMs }) =>
  new Promise((resolve, reject) => {
    const read = new Function(`return ${reader}`)();
    const video = document.querySelector("video");
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const shown = [];
    const timer = setTimeout(() => reject(new Error(`${shown.length} of ${count} frames were shown`)), limitMs);
    const look = (_now, { width, height, presentedFrames }) => {
      const atMs = Date.now();
      canvas.width = width;
      canvas.height = height;
      context.drawImage(video, 0, 0);
      const { data } = context.getImageData(0, 0, width, height);
      shown.push({ atMs, code: read({ data, width, height, step: 4 }), count: presentedFrames, width });
      if (shown.length < count) {
        video.requestVideoFrameCallback(look);
        return;
      }
      clearTimeout(timer);
      resolve(shown);
    };
    video.requestVideoFrameCallback(look);
  });

globalThis.countSoundBytes = () => document.querySelector("video").webkitAudioDecodedByteCount;
