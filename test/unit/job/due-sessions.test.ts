/** Which sessions a model may read. */
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { dueSessions } from "../../../src/job/summarize-session.ts"
import { FILTERED } from "../../../src/secrets/filter.ts"
import { Archive } from "../../support/archive.ts"

test("none of an excluded project, wherever its worktrees are; the others until there are enough", () => {
  using archive = new Archive()
  const [kept, worktree] = [join(archive.root, "kept"), join(archive.root, "elsewhere")]
  const gitDir = join(kept, ".git", "worktrees", "elsewhere")
  for (const folder of [gitDir, worktree]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(kept, ".git", "HEAD"), "ref: refs/heads/main\n")
  writeFileSync(join(gitDir, "gitdir"), `${worktree}/.git\n`)
  writeFileSync(join(worktree, ".git"), `gitdir: ${gitDir}\n`)
  const folders = {
    main: kept,
    tree: worktree,
    one: join(archive.root, "one"),
    two: join(archive.root, "two"),
  }
  for (const [id, cwd] of Object.entries(folders))
    archive.follow(archive.session(id, { cwd }).turn(`Paint ${id}`, [], "Painted.").flush())
  const due = (exclude: readonly string[], most: number) => {
    const place = { dataHome: archive.dataHome, home: archive.root, secrets: FILTERED, exclude }
    const found = dueSessions(archive.db, ["main", "tree", "one", "two"], { place, anew: false, most })
    return found.map(({ session }) => session)
  }
  expect(due([], 9)).toEqual(["main", "tree", "one", "two"])
  expect(due(["~/kept"], 9)).toEqual(["one", "two"])
  expect(due(["~/kept"], 1)).toEqual(["one"])
})
