/** Shows text that is longer than the screen in the user's pager, as git does. */
import { isatty } from "node:tty"
import { STDIN, STDOUT } from "../base/write-output.ts"
import { childEnvironment, pagerCommand } from "../config/load.ts"

/** What a shell says of a command that it cannot start. */
const NOT_STARTED = [126, 127]
/** Links (OSC 8): pagers other than less show their sequences. */
const LINKS = /\x1b\]8;;[^\x1b]*\x1b\\/g

/**
 * @param less what less is told if the user has not said it. F: no pager after all if it fits; R: colours; X: what was
 * read stays on the screen
 * @returns whether it was shown; otherwise nothing was written
 */
export async function showInPager(text: string, less = "FRX"): Promise<boolean> {
  if (!isatty(STDIN) || !isatty(STDOUT)) return false
  const command = pagerCommand()
  const shell = Bun.which("sh")
  if (command === undefined || shell === null) return false
  const environment = childEnvironment()
  const child = Bun.spawn([shell, "-c", command], {
    env: { ...environment, LESS: environment["LESS"] ?? less, LV: environment["LV"] ?? "-c" },
    stdin: Buffer.from(/\bless\b/.test(command) ? text : text.replace(LINKS, "")),
    stdout: "inherit",
    stderr: "inherit",
  })
  // Ctrl-C is for the pager, which goes on: without us, it would share the terminal with the shell.
  const stay = (): void => undefined
  process.on("SIGINT", stay)
  try {
    return !NOT_STARTED.includes(await child.exited)
  } finally {
    process.off("SIGINT", stay)
  }
}
