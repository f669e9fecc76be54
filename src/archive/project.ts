/** Which project a folder belongs to: worktrees of one repository share a project. */
import { readOrdinary, statsOf } from "../util/files.ts"
import { basename, dirname, isAbsolute, join, resolve } from "../util/path.ts"

/**
 * The git common dir of `cwd`, else `cwd` itself.
 *
 * Read from the files git keeps (gitrepository-layout(5)); git itself is not started.
 */
export function projectOf(cwd: string): string {
  if (!isAbsolute(cwd)) return cwd
  for (let dir = cwd, depth = 0; depth < 64; dir = dirname(dir), depth++) {
    const git = join(dir, ".git")
    const stats = statsOf(git)
    if (stats?.isDirectory()) return git
    if (stats?.isFile()) return commonDir(dir, git) ?? cwd
    if (dir === dirname(dir)) break
  }
  return cwd
}

/** A project as people name it: the repository's folder. */
export const folderOf = (project: string): string =>
  basename(project) === ".git" ? dirname(project) : project

/** Bytes of a file that holds one path. */
const LONGEST = 8 << 10

/** A worktree's `.git` file names its git dir; `commondir` in there names the repository's. */
function commonDir(dir: string, file: string): string | undefined {
  try {
    const named = /^gitdir:\s*(.+?)\s*$/m.exec(readOrdinary(file, LONGEST) ?? "")?.[1]
    if (named === undefined) return undefined
    const gitDir = resolve(dir, named)
    try {
      const common = readOrdinary(join(gitDir, "commondir"), LONGEST)
      return common === undefined ? gitDir : resolve(gitDir, common.trim())
    } catch {
      return gitDir
    }
  } catch {
    return undefined
  }
}
