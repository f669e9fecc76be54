/** Versions of the host. Pure. */

/** Whether a version such as `2.1.112` is at least this one; false for an unknown version. */
export function atLeast(version: string | undefined, least: readonly [number, number, number]): boolean {
  const parts = (version ?? "").split(".").map(Number)
  for (let n = 0; n < 3; n++) {
    const part = parts[n] ?? Number.NaN
    if (Number.isNaN(part)) return false
    if (part !== least[n]) return part > least[n]!
  }
  return true
}
