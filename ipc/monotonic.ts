/** Milliseconds of a clock that never jumps and that all processes of this machine share, unlike `performance.now()`. */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;
