/** Tested releases. Later and intermediate ones are accepted with a warning. */
const TESTED = [20, 22, 24];
const OLDEST = [20, 11];

/** @returns {{ usable: boolean, message: string | null }} */
export function checkNodeVersion(version) {
  const [major, minor] = version.replace(/^v/, "").split(".").map(Number);
  const wanted = `Windhover runs on Node ${TESTED.join(", ")} (${OLDEST.join(".")} or later)`;
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    return { usable: false, message: `${wanted}; this is Node ${version}. Install one of these and run this again.` };
  }
  if (!TESTED.includes(major)) {
    return { usable: true, message: `${wanted}; this is Node ${version}, which is not tested. Continuing.` };
  }
  return { usable: true, message: null };
}
