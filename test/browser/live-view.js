/** Runs in the page: keeps every picture that the live view shows, for later comparison. */
{
  const kept = new Map();
  const read = (context) => context.getImageData(0, 0, context.canvas.width, context.canvas.height);
  const colourAt = ({ data, width, height }, [x, y]) => {
    const at = (Math.min(height - 1, Math.floor(y * height)) * width + Math.min(width - 1, Math.floor(x * width))) * 4;
    return [...data.slice(at, at + 3)];
  };

  /** Resolves with the times and numbers of boxes of the next pictures. */
  window.keepShown = (count) =>
    new Promise((resolve) => {
      const canvas = document.querySelector("figure.live canvas");
      const shown = [];
      // Called after a picture was drawn completely, and before the next one.
      const observer = new MutationObserver(() => {
        const { timestamp, tracks } = canvas.dataset;
        if (kept.has(timestamp)) return;
        kept.set(timestamp, read(canvas.getContext("2d")));
        shown.push({ timestamp, tracks });
        if (shown.length < count) return;
        observer.disconnect();
        resolve(shown);
      });
      observer.observe(canvas, { attributes: true, attributeFilter: ["data-timestamp"] });
    });

  /** Colours of points, which are fractions of the picture. */
  window.readShown = (timestamp, points) => points.map((point) => colourAt(kept.get(timestamp), point));

  /** The same points of another picture, drawn at the same size. */
  window.readPicture = async (timestamp, base64, points) => {
    const { width, height } = kept.get(timestamp);
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context.drawImage(await createImageBitmap(new Blob([bytes], { type: "image/jpeg" })), 0, 0, width, height);
    const picture = read(context);
    return points.map((point) => colourAt(picture, point));
  };

  window.toRgb = (css) => {
    const context = new OffscreenCanvas(1, 1).getContext("2d");
    context.fillStyle = css;
    context.fillRect(0, 0, 1, 1);
    return [...read(context).data.slice(0, 3)];
  };
}
