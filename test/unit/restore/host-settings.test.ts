/** A project's settings arrive with `git clone`: they may say anything, and a hook waits for what is made of them. */
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { contextSettings } from "../../../src/claude/settings/read-settings.ts"
import { tempFolder } from "../../support/temp.ts"

function settingsOf(folder: string, settings: unknown) {
  const [home, cwd] = [join(folder, "home"), join(folder, "project")]
  mkdirSync(join(cwd, ".claude"), { recursive: true })
  writeFileSync(join(cwd, ".claude", "settings.json"), JSON.stringify(settings))
  return { cwd, ...contextSettings({ home, claudeDir: join(home, ".claude"), cwd }) }
}

test("patterns that are invalid or longer than any path exclude nothing; the others do", () => {
  using folder = tempFolder()
  const long = `{${"x".repeat(5000)},**/LONG.md}`
  const { cwd, isExcluded } = settingsOf(folder.path, {
    claudeMdExcludes: [long, 7, null, "", "[", "{{{", "**/\0", ["**/LIST.md"], "**/SHORT.md"],
  })
  expect(isExcluded(join(cwd, "SHORT.md"))).toBe(true)
  for (const name of ["LONG.md", "LIST.md", "CLAUDE.md"]) expect(isExcluded(join(cwd, name))).toBe(false)
})

test("values that are not folders of plans or notes are ignored", () => {
  using folder = tempFolder()
  for (const value of [7, {}, ["plans"], "../plans", "/etc", "", "a/../../plans"]) {
    const settings = settingsOf(folder.path, { plansDirectory: value, autoMemoryDirectory: value })
    const own = join(folder.path, "home", ".claude", "plans")
    expect(settings.planFolders.filter((one) => one !== own && one !== settings.cwd)).toEqual([])
    expect([undefined, "/etc"]).toContain(settings.notes as undefined)
  }
})

test("the folder of plans must be inside the session's, however it is written", () => {
  using folder = tempFolder()
  const folders = (plansDirectory: string): readonly string[] => {
    const { cwd, planFolders } = settingsOf(folder.path, { plansDirectory })
    return planFolders.map((one) => one.replace(`${cwd}/`, "./"))
  }
  const own = join(folder.path, "home", ".claude", "plans")
  const inProject = join(folder.path, "project", "docs", "plans")
  for (const value of ["docs/plans", "./docs/plans/", "docs/../docs/plans", inProject])
    expect(folders(value)).toEqual(["./docs/plans", own])
  for (const value of ["../project-2/plans", join(folder.path, "project-2"), "a/../../project-2"])
    expect(folders(value)).toEqual([own])
})
