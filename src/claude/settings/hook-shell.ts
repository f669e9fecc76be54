/** The shell in which Claude Code runs hooks and status lines. */

import { existsSync } from "../../base/fs.ts"
import { fromSystem, join } from "../../base/path.ts"
import { claudeVariable } from "../../config/load.ts"

/** Program and arguments for a line of Claude Code's settings. */
export function inHookShell(line: string): string[] {
  if (process.platform !== "win32") return ["/bin/sh", "-c", line]
  const bash = gitBash()
  return bash === undefined
    ? ["powershell.exe", "-NoProfile", "-NonInteractive", "-Command", line]
    : [bash, "-c", line]
}

/** On Windows the shell of Git, as Claude Code finds it. Another `bash` on PATH may be that of WSL. */
function gitBash(): string | undefined {
  const named = claudeVariable("CLAUDE_CODE_GIT_BASH_PATH")
  if (named !== undefined) return fromSystem(named)
  const found = Bun.which("git")
  const gits = ["C:/Program Files/Git/cmd/git.exe", "C:/Program Files (x86)/Git/cmd/git.exe"]
  if (found !== null) gits.push(fromSystem(found))
  return gits.map((git) => join(git, "../../bin/bash.exe")).find(existsSync)
}
