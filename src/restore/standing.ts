/** What the host puts into every context by itself: the memory files of the user and of the folder. */
import { readFileSync, statSync } from "../util/fs.ts"
import { dirname, join } from "../util/path.ts"

/** Bytes of a file that is read; the host warns of longer ones. */
const LONGEST = 100_000
/** Folders above that are looked at. */
const MOST_FOLDERS = 20

/**
 * @param cwd the session's folder, as the host says it
 * @param claudeDir the host's own folder of the user
 * @returns their texts; what cannot be read is left out
 */
export function standingText(cwd: string | undefined, claudeDir: string): string {
  const files = [join(claudeDir, "CLAUDE.md")]
  if (cwd !== undefined) {
    files.push(join(claudeDir, "projects", cwd.replace(/[^A-Za-z0-9]/g, "-"), "memory", "MEMORY.md"))
    for (const folder of upwards(cwd)) {
      files.push(join(folder, "CLAUDE.md"), join(folder, ".claude", "CLAUDE.md"))
      files.push(join(folder, "CLAUDE.local.md"))
    }
  }
  return [...new Set(files)].map(smallFile).filter(Boolean).join("\n")
}

function* upwards(folder: string): Generator<string> {
  let at = folder
  for (let n = 0; n < MOST_FOLDERS; n++) {
    yield at
    const above = dirname(at)
    if (above === at) return
    at = above
  }
}

/** A pipe or device is not waited for. */
function smallFile(path: string): string {
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat?.isFile() && stat.size <= LONGEST ? readFileSync(path, "utf8") : ""
  } catch {
    return ""
  }
}
