/**
 * Learns the root commits of repositories while they are there, and joins those that were moved with their new place
 * (views/joined-projects.ts). In the background job and `import`, never in a hook.
 */

import { tryTo } from "../base/files.ts"
import { existsSync, realpathSync } from "../base/fs.ts"
import { dirname, join } from "../base/path.ts"
import { childEnvironment, foldersOfPath } from "../config/load.ts"
import type { Database } from "../views/database.ts"
import {
  changeJoined,
  isGone,
  type Join,
  type KnownRepository,
  mountOf,
  movesAmong,
  notFollowed,
  type Repository,
  readJoined,
} from "../views/joined-projects.ts"
import { folderOf, projectOf } from "../views/project.ts"
import { ownProjects } from "../views/queries/projects.ts"

export interface FoundMoves {
  readonly joined: readonly Join[]
  readonly parted: readonly Join[]
}

interface LookOptions {
  /** Folders in which somebody works, whether or not anything of them is archived. */
  readonly folders?: readonly string[]
  /** ms since the epoch. */
  readonly now: number
  /** Whether a repository without a known root commit is asked again, however short ago that was. */
  readonly anew?: boolean
  /** Called before each repository that is asked; throws when it is time to stop. */
  readonly goOn?: () => void
}

/** ms after which a repository without a known root commit is asked again: it may have got one. */
const ASK_AGAIN = 60 * 60_000

/** Compares what the archive knows with what is there, and has file and views follow. */
export function findMoves(db: Database, dataHome: string, options: LookOptions): FoundMoves {
  const { folders = [], now, anew = false, goOn } = options
  const paths = new Set(ownProjects(db).map(({ path }) => path))
  const { known, joins } = readJoined(dataHome)
  for (const { from, to } of joins) if (paths.has(from)) paths.add(to)
  const here = new Set(folders.map(projectOf).filter((path) => !paths.has(path)))
  const learnt: Record<string, KnownRepository> = {}
  const rootsGone = new Set<string>()
  const repositories: Repository[] = []
  const look = (path: string): void => {
    const found = stateOf(path, known[path])
    if (found === undefined) return
    if (found.state !== "there") {
      if (found.root !== undefined) rootsGone.add(found.root)
      repositories.push(found)
      return
    }
    const isDue = known[path] === undefined || anew || now - found.asked >= ASK_AGAIN
    if (found.root !== undefined || !isDue) {
      repositories.push(found)
      return
    }
    goOn?.()
    const asked = { mount: mountOf(folderOf(path)), root: rootCommit(path), asked: now }
    // It may be moved while git is at work.
    if (!isRepository(path)) return
    learnt[path] = asked
    repositories.push({ ...found, ...asked })
  }
  for (const path of paths) look(path)
  // Nothing is noted of a folder of which nothing is archived, unless something was moved there.
  if (rootsGone.size > 0) for (const path of here) look(path)
  let moves: FoundMoves = { joined: [], parted: [] }
  if (Object.keys(learnt).length === 0 && !isChanged(db, dataHome, repositories)) return moves
  changeJoined(db, dataHome, (file) => {
    const { file: after, joined, parted } = movesAmong(file, repositories)
    moves = { joined, parted }
    const isWanted = (path: string): boolean => paths.has(path) || joined.some(({ to }) => to === path)
    // Another process may have learnt more meanwhile.
    const isNews = ([path, { root }]: [string, KnownRepository]): boolean =>
      isWanted(path) && (root !== undefined || file.known[path]?.root === undefined)
    const kept = Object.entries(learnt).filter(isNews)
    if (kept.length === 0 && after === file) return file
    return { ...after, known: { ...after.known, ...Object.fromEntries(kept) } }
  })
  return moves
}

/** Whether there is anything to do: nearly always there is not, and then nobody has to wait for us. */
function isChanged(db: Database, dataHome: string, repositories: readonly Repository[]): boolean {
  const file = readJoined(dataHome)
  return movesAmong(file, repositories).file !== file || notFollowed(db, file.joins).length > 0
}

/** undefined: it is no repository, or nothing was ever known of it. */
function stateOf(path: string, known: KnownRepository | undefined): Repository | undefined {
  const noted = known ?? { root: undefined, mount: "/", asked: 0 }
  const real = isRepository(path) ? (tryTo(() => realpathSync(path)) ?? path) : undefined
  if (real === path) return { path, ...noted, state: "there" }
  if (known === undefined) return undefined
  if (real !== undefined) return { path, ...noted, state: "gone", at: real }
  return { path, ...noted, state: isGone(path, noted.mount) ? "gone" : "away" }
}

/** As gitrepository-layout(5) has it; for a worktree, the project is the repository that it belongs to. */
const isRepository = (path: string): boolean =>
  existsSync(join(path, "HEAD")) && existsSync(join(path, "objects")) && existsSync(join(path, "refs"))

/** ms that git may take. */
const PATIENCE = 10_000

/**
 * The commit that a repository began with, along the first parents of what is checked out, so that a history merged in
 * later changes nothing; undefined if there is none, or a shallow clone does not have it.
 *
 * Anybody may have made the repository, so nothing of its settings may start a program: git reads commits, and neither
 * work tree nor index. It fetches nothing that is missing, which would run what the settings say.
 */
function rootCommit(repository: string): string | undefined {
  if (existsSync(join(repository, "shallow"))) return undefined
  const git = Bun.which("git", { PATH: foldersOfPath().join(process.platform === "win32" ? ";" : ":") })
  if (git === null) return undefined
  const settings = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.commitGraph": "false",
    "protocol.allow": "never",
    "maintenance.auto": "false",
    "gc.auto": "0",
  }
  const overruled = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  const command = ["rev-list", "--first-parent", "--max-parents=0", "HEAD", "--"]
  const own = Object.entries(childEnvironment()).filter(([name]) => !/^(?:GIT|SSH)_/i.test(name))
  const run = tryTo(() =>
    Bun.spawnSync([git, "--no-pager", `--git-dir=${repository}`, ...overruled, ...command], {
      stdio: ["ignore", "pipe", "ignore"],
      cwd: dirname(git),
      timeout: PATIENCE,
      maxBuffer: 1 << 16,
      env: {
        ...Object.fromEntries(own),
        GIT_ALLOW_PROTOCOL: "none",
        GIT_ATTR_NOSYSTEM: "1",
        GIT_CONFIG_GLOBAL: "/dev/null",
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_GRAFT_FILE: "/dev/null",
        GIT_NO_LAZY_FETCH: "1",
        GIT_NO_REPLACE_OBJECTS: "1",
        GIT_OPTIONAL_LOCKS: "0",
        GIT_TERMINAL_PROMPT: "0",
      },
    }),
  )
  if (run === undefined || run.exitCode !== 0) return undefined
  const [root, another] = run.stdout.toString().split("\n").filter(Boolean)
  return another === undefined && /^[0-9a-f]{40,64}$/.test(root ?? "") ? root : undefined
}
