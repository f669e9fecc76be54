/** Which project a folder belongs to. Worktrees of one repository share a project. */
import { readOrdinary, statsOf } from "../base/files.ts"
import { existsSync } from "../base/fs.ts"
import { basename, dirname, isAbsolute, join, resolve } from "../base/path.ts"

/**
 * The git common dir of `cwd`, or else `cwd` itself.
 *
 * Read from git's own files (gitrepository-layout(5)) without starting git.
 */
export function projectOf(cwd: string): string {
  if (!isAbsolute(cwd)) return cwd
  for (let dir = cwd, depth = 0; depth < 64; dir = dirname(dir), depth++) {
    const git = join(dir, ".git")
    const stats = statsOf(git)
    if (stats?.isDirectory()) return git
    if (stats?.isFile()) return namedIn(git, dir) ?? dir
    if (dir === dirname(dir)) break
  }
  return cwd
}

/** A project's name for people: the repository's folder. */
export const folderOf = (project: string): string =>
  basename(project) === ".git" ? dirname(project) : project

/** Whether a folder is that of the project, or below it. */
export const isInFolder = (folder: string, project: string): boolean =>
  `${folder}/`.startsWith(`${folderOf(project)}/`)

/** The last part of that folder's path, which may be a Windows path; undefined: it has none. */
export const shortNameOf = (project: string): string | undefined =>
  folderOf(project).split(/[/\\]/).findLast(Boolean)

/**
 * Short names by project: of projects that share one, as much of the end of the path as tells them apart. A number alone,
 * as worktrees are called, tells nothing.
 */
export function namesApart(projects: Iterable<string>): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const tell = (some: readonly string[], parts: number): void => {
    const ending = (project: string): string => {
      const all = folderOf(project).split(/[/\\]/).filter(Boolean)
      return all.length < parts ? folderOf(project) : all.slice(-parts).join("/")
    }
    for (const [name, same] of Map.groupBy(some, ending)) {
      for (const one of same) names.set(one, name)
      const isWhole = same.every((one) => folderOf(one) === name)
      if (same.length > 1 && !isWhole) tell(same, parts + 1)
    }
  }
  const isTelling = (project: string): boolean => !/^\d+$/.test(shortNameOf(project) ?? "")
  const [bare = [], others = []] = [false, true].map((is) =>
    [...new Set(projects)].filter((one) => isTelling(one) === is),
  )
  tell(others, 1)
  tell(bare, 2)
  return names
}

/** The checkout or worktree of one of these projects in which a folder lies, if that can be told. */
export function checkoutOf(folder: string, projects: readonly string[]): string | undefined {
  // Where Claude Code makes its own, and deletes them again.
  const gone = /^.+\/\.claude\/worktrees\/[^/]+/.exec(folder)?.[0]
  for (let dir = folder; ; dir = dirname(dir)) {
    if (dir === gone || (existsSync(join(dir, ".git")) && projects.includes(projectOf(dir)))) return dir
    if (dir === dirname(dir)) return undefined
  }
}

/** Most bytes of a file of git's that is read. */
const LARGEST = 64 << 10

/**
 * What a `.git` file names: a worktree's git dir, which is inside the repository's, or a submodule's. Anyone may have put
 * such a file into a folder, so the git dir must name the folder, too. A worktree's does so in its `gitdir`, a submodule's
 * in its configuration.
 */
function namedIn(file: string, dir: string): string | undefined {
  const named = valueIn(file, /^gitdir:\s*(.+)/m)
  if (!named) return undefined
  const gitDir = resolve(dir, named)
  // Folders are compared, since a file may be a link to a stranger's.
  const namesBack = (name: string, pattern: RegExp): boolean => {
    const back = valueIn(`${gitDir}/${name}`, pattern)
    const stats = back && statsOf(resolve(gitDir, back))
    const own = statsOf(dir)
    return !!stats && stats.ino === own?.ino && stats.dev === own.dev
  }
  const common = dirname(dirname(gitDir))
  // Whoever brought the folder may have brought a git dir as well, but not inside somebody's repository.
  if (gitDir.startsWith(`${common}/worktrees/`) && existsSync(`${common}/HEAD`))
    return namesBack("gitdir", /(.+)\/\.git$/m) ? common : undefined
  return namesBack("config", /^\s*worktree\s*=\s*"?([^"\n]+)/m) ? gitDir : undefined
}

/** A value in a file that may not exist. */
function valueIn(file: string, pattern: RegExp): string | undefined {
  try {
    return pattern.exec(readOrdinary(file, LARGEST) ?? "")?.[1]?.trim()
  } catch {
    return undefined
  }
}
