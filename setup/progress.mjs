const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const FRAME_MS = 100;
/** Interval of status lines when stdout is not a terminal. */
const REMINDER_MS = 30_000;

/**
 * Shows steps that may run concurrently: on a terminal one line with a spinner, elapsed seconds and progress; elsewhere
 * one line at the start of each step, one at its end, and one every 30 seconds in between.
 *
 * @param {(show: (title: string, work: (onProgress: (text: string) => void) => Promise<T>) => Promise<T>) => Promise<R>} act
 */
export async function showSteps(act, output = process.stdout) {
  const running = new Set();
  let frame = 0;
  const secondsOf = ({ startMs }) => `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
  const draw = () => {
    const mark = FRAMES[frame++ % FRAMES.length];
    const texts = [...running].map((step) => `${step.title} ${secondsOf(step)}${step.detail && ` · ${step.detail}`}`);
    output.write(`\r\x1b[K${`${mark} ${texts.join(" | ")}`.slice(0, (output.columns || 80) - 1)}`);
  };
  const remind = () => {
    for (const step of running)
      output.write(`  ${step.title}: ${secondsOf(step)}${step.detail && `, ${step.detail}`}\n`);
  };
  const timer = setInterval(output.isTTY ? draw : remind, output.isTTY ? FRAME_MS : REMINDER_MS);
  const show = async (title, work) => {
    const step = { title, startMs: performance.now(), detail: "" };
    running.add(step);
    if (output.isTTY) draw();
    else output.write(`${title} …\n`);
    let mark = "✗";
    try {
      const result = await work((text) => {
        step.detail = text;
      });
      mark = "✓";
      return result;
    } finally {
      running.delete(step);
      output.write(`${output.isTTY ? "\r\x1b[K" : ""}${mark} ${title} ${secondsOf(step)}\n`);
    }
  };
  try {
    return await act(show);
  } finally {
    clearInterval(timer);
  }
}
