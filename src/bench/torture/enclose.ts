/**
 * A namespace of our own for mounts: what is mounted in it is seen by nobody else, and gone when the last process in
 * it has ended, however that ended. Also gives users who are not root the right to mount there.
 */

/** Words before a command that is to run so; undefined where that is not possible. */
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
