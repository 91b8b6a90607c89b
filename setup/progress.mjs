const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const FRAME_MS = 100;
/** Without a terminal: often enough to see that it lives, rare enough for a log. */
const REMINDER_MS = 30_000;

/**
 * Shows one step while `work` runs: on a terminal a line with a spinner and the seconds so far, elsewhere a line at the
 * start, one at the end and one now and then between. `work` gets a function that says what is being done just now.
 */
export async function showStep(title, work, output = process.stdout) {
  const startMs = performance.now();
  const seconds = () => `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
  let detail = "";
  let frame = 0;
  const draw = (mark, text) => {
    const line = `${mark} ${title} ${seconds()}${text === "" ? "" : ` · ${text}`}`;
    output.write(`\r\x1b[K${line.slice(0, (output.columns || 80) - 1)}`);
  };
  const tick = output.isTTY
    ? () => draw(FRAMES[frame++ % FRAMES.length], detail)
    : () => output.write(`  ${title}: ${seconds()}${detail === "" ? "" : `, ${detail}`}\n`);
  if (output.isTTY) tick();
  else output.write(`${title} …\n`);
  const timer = setInterval(tick, output.isTTY ? FRAME_MS : REMINDER_MS);
  let mark = "✗";
  try {
    const result = await work((text) => {
      detail = text;
    });
    mark = "✓";
    return result;
  } finally {
    clearInterval(timer);
    if (output.isTTY) {
      draw(mark, "");
      output.write("\n");
    } else {
      output.write(`${mark} ${title} ${seconds()}\n`);
    }
  }
}
