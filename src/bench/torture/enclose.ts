/**
 * A private mount namespace: no one else sees what is mounted in it, and its mounts disappear when its last process
 * ends, for whatever reason. It also lets users other than root mount.
 */

/** Words to put before a command to run it in such a namespace; undefined when that is impossible. */
export function enclosure(): readonly string[] | undefined {
  const unshare = Bun.which("unshare")
  if (unshare === null) return undefined
  const own = process.getuid?.() === 0 ? [unshare, "--mount"] : [unshare, "--map-root-user", "--mount"]
  const { exitCode } = Bun.spawnSync([...own, "true"], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  })
  return exitCode === 0 ? own : undefined
}
