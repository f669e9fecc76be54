/** Ends a program along with everything it has started. */

/** @param leader id of a process that was started with `ownGroup` */
export function killGroup(leader: number): void {
  try {
    if (process.platform === "win32") Bun.spawnSync(["taskkill", "/T", "/F", "/PID", String(leader)])
    else process.kill(-leader, "SIGKILL")
  } catch {
    // It has just ended.
  }
}

/**
 * Options for such a program. On Windows whoever ends it asks for the tree, and a detached one would open windows for
 * what it starts.
 */
export const ownGroup = process.platform === "win32" ? { windowsHide: true } : { detached: true }
