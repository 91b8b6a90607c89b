/** Runs in the page: luma of the first and the last frame that a video element shows of this file. */
window.readEnds = async (url) => {
  const video = document.createElement("video");
  const canvas = document.createElement("canvas");
  const occurs = (name) =>
    new Promise((resolve, reject) => {
      video.addEventListener(name, resolve, { once: true });
      video.addEventListener("error", () => reject(new Error(video.error?.message)), { once: true });
    });
  const read = () => {
    [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
    const context = canvas.getContext("2d");
    context.drawImage(video, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    return Array.from({ length: data.length / 4 }, (_, i) => data[i * 4]);
  };
  video.muted = true;
  video.preload = "auto";
  video.src = url;
  document.body.append(video);
  await Promise.race([new Promise((resolve) => video.requestVideoFrameCallback(resolve)), occurs("error")]);
  const first = read();
  const ended = occurs("ended");
  await video.play();
  await ended;
  // A busy machine may not have painted the last frames in time. One that is on display already is not painted again.
  const painted = new Promise((resolve) => video.requestVideoFrameCallback(resolve));
  const seeked = occurs("seeked");
  video.currentTime = video.duration - 0.002;
  await seeked;
  await Promise.race([painted, new Promise((resolve) => setTimeout(resolve, 2000))]);
  const last = read();
  video.remove();
  return [first, last];
};
