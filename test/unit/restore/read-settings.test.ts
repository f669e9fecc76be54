/** A project's settings arrive with `git clone`: they may say anything, and a hook waits for what is made of them. */
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { cleanUpPeriod } from "../../../src/claude/settings/clean-up.ts"
import {
  autoCompactIn,
  contextSettings,
  hooksOf,
  hostEnvironment,
  readSettings,
} from "../../../src/claude/settings/read-settings.ts"
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

test("what an organisation manages is read by everybody, and counts more than what users write", () => {
  using folder = tempFolder()
  const [home, cwd, managed] = ["home", "project", "managed"].map((name) => join(folder.path, name))
  const places = {
    home: home!,
    claudeDir: join(home!, ".claude"),
    hostConfig: home!,
    cwd: cwd!,
    managed: managed!,
  }
  const put = (path: string, settings: unknown): void => {
    mkdirSync(join(path, ".."), { recursive: true })
    writeFileSync(path, JSON.stringify(settings))
  }
  const env = (url: string) => ({ env: { ANTHROPIC_BASE_URL: url } })
  put(join(home!, ".claude/settings.json"), { ...env("http://user"), autoCompactEnabled: true })
  put(join(cwd!, ".claude/settings.local.json"), { ...env("http://local"), cleanupPeriodDays: 3 })
  put(join(managed!, "managed-settings.json"), { ...env("http://managed"), autoCompactEnabled: false })
  const hook = { hooks: [{ type: "command", command: "audit", timeout: 5 }] }
  put(join(managed!, "managed-settings.d/10.json"), {
    cleanupPeriodDays: 90,
    autoMemoryEnabled: false,
    hooks: { Stop: [hook] },
  })
  const files = readSettings(places)
  expect(files.map(({ scope }) => scope)).toEqual(["user", "local", "managed", "managed"])
  expect(hostEnvironment(places).baseUrl.slice(0, 3)).toEqual([
    { from: "managed", value: "http://managed" },
    { from: "local", value: "http://local" },
    { from: "user", value: "http://user" },
  ])
  expect(autoCompactIn(places)).toEqual({ settings: false })
  expect(cleanUpPeriod(files).days).toBe(90)
  expect(contextSettings(places).notes).toBe("none")
  expect(files.flatMap(hooksOf)).toEqual([{ event: "Stop", command: "audit", timeout: 5 }])
})
