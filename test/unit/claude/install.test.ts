import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { CtxError } from "../../../src/base/errors.ts"
import { install, type RegistrationOptions, uninstall } from "../../../src/claude/install/registration.ts"
import { SCOPES, settingsPath } from "../../../src/claude/settings/read-settings.ts"
import { type Paths, resolvePlaces } from "../../../src/config/load.ts"

let root: string
let options: RegistrationOptions & Paths

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ctxbridge-install-"))
  for (const name of ["home", "project"]) mkdirSync(join(root, name))
  options = {
    ...resolvePlaces({ HOME: join(root, "home"), CTXBRIDGE_HOME: join(root, "data", "ctxbridge") }),
    scope: "user",
    cwd: join(root, "project"),
    exePath: "/opt/ctxbridge",
  }
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

const file = () => settingsPath(options.scope, options)
const put = (text: string, mode = 0o644) => {
  mkdirSync(dirname(file()), { recursive: true })
  writeFileSync(file(), text)
  chmodSync(file(), mode)
}
const text = () => readFileSync(file(), "utf8")
const mode = (path: string) => statSync(path).mode & 0o777
const tree = (path: string): string[] => readdirSync(path, { recursive: true }).map(String).sort()
const caught = (work: () => unknown): CtxError => {
  try {
    work()
  } catch (error) {
    return error as CtxError
  }
  throw new Error("nothing was thrown")
}

describe("where", () => {
  test("each scope has its file", () => {
    const places = { ...resolvePlaces({ HOME: "/h" }), cwd: "/p" }
    expect(SCOPES.map((scope) => settingsPath(scope, places))).toEqual([
      "/h/.claude/settings.json",
      "/p/.claude/settings.json",
      "/p/.claude/settings.local.json",
    ])
    expect(settingsPath("user", { ...places, claudeDir: "/c" })).toBe("/c/settings.json")
    expect(settingsPath("project", { ...places, claudeDir: "/c" })).toBe("/p/.claude/settings.json")
  })

  test("scopes do not disturb each other", () => {
    const before = tree(root)
    for (const scope of SCOPES) expect(install({ ...options, scope }).action).toBe("created")
    expect(uninstall({ ...options, scope: "local" }).action).toBe("deleted")
    expect(install({ ...options, scope: "project" }).changed).toBe(false)
    for (const scope of SCOPES) uninstall({ ...options, scope })
    expect(tree(root)).toEqual([...before, "data", "data/ctxbridge"].sort())
  })
})

describe("a file that was not there", () => {
  test("is private, and goes again with its folder", () => {
    const done = install(options)
    expect(done).toMatchObject({
      file: file(),
      action: "created",
      changed: true,
      replaced: [],
      backup: undefined,
    })
    expect(done.added).toHaveLength(6)
    expect(mode(file())).toBe(0o600)
    expect(mode(dirname(file()))).toBe(0o700)
    expect(mode(join(options.dataHome, "install"))).toBe(0o700)
    expect(mode(join(options.dataHome, "install", "manifest.json"))).toBe(0o600)
    expect(uninstall(options)).toMatchObject({ action: "deleted", changed: true })
    expect(tree(options.home)).toEqual([])
  })

  test("leaves a folder that someone has put something into", () => {
    install(options)
    writeFileSync(join(dirname(file()), "CLAUDE.md"), "")
    uninstall(options)
    expect(tree(options.home)).toEqual([".claude", ".claude/CLAUDE.md"])
  })

  test("leaves a folder that was there", () => {
    mkdirSync(dirname(file()))
    install(options)
    uninstall(options)
    expect(tree(options.home)).toEqual([".claude"])
  })

  test("goes also when the host has written it anew meanwhile", () => {
    install(options)
    put(JSON.stringify(JSON.parse(text())))
    expect(uninstall(options).action).toBe("deleted")
    expect(tree(options.home)).toEqual([])
  })

  test("stays once it holds something else", () => {
    install(options)
    put(JSON.stringify({ ...JSON.parse(text()), model: "opus" }, null, 2))
    expect(uninstall(options).action).toBe("edited")
    expect(text()).toBe('{\n  "model": "opus"\n}')
  })

  test("removed by hand: nothing to do, and nothing stays behind", () => {
    install(options)
    rmSync(file())
    expect(uninstall(options)).toMatchObject({ action: "none", changed: false })
    expect(tree(root)).toEqual(["data", "data/ctxbridge", "home", "project"])
  })
})

describe("a file that was there", () => {
  const odd = '\uFEFF{ "model":"opus",\r\n\r\n\t"hooks" : { "Stop":[ ] , "x":[\r\n] } }\r\n\r\n'

  test("comes back byte for byte, with its mode", () => {
    put(odd, 0o640)
    const done = install(options)
    expect(done.action).toBe("edited")
    expect(readFileSync(done.backup as string, "utf8")).toBe(odd)
    expect(mode(done.backup as string)).toBe(0o600)
    expect(mode(file())).toBe(0o640)
    expect(uninstall(options)).toMatchObject({ action: "restored", changed: true, added: [] })
    expect(text()).toBe(odd)
    expect(mode(file())).toBe(0o640)
    expect(existsSync(join(options.dataHome, "install"))).toBe(false)
    expect(tree(dirname(file()))).toEqual(["settings.json"])
  })

  test("install again changes nothing; a moved binary is replaced; the way back stays", () => {
    put(odd)
    install(options)
    const first = text()
    const stamp = statSync(file()).mtimeMs
    expect(install(options)).toMatchObject({ action: "none", changed: false, added: [], replaced: [] })
    expect(statSync(file()).mtimeMs).toBe(stamp)
    const moved = install({ ...options, exePath: "/new place/ctxbridge" })
    expect(moved.replaced).toHaveLength(6)
    expect(text()).toBe(first.replaceAll("/opt/ctxbridge", "'/new place/ctxbridge'"))
    uninstall(options)
    expect(text()).toBe(odd)
  })

  test("edited by others after the install: only ours is cut out", () => {
    put('{\n    "model": "opus",\n    "hooks": {}\n}\n')
    install(options)
    put(text().replace('"opus"', '"sonnet"'))
    expect(uninstall(options)).toMatchObject({ action: "edited", removed: expect.arrayContaining(["Stop"]) })
    expect(text()).toBe('{\n    "model": "sonnet",\n    "hooks": {}\n}\n')
  })

  test("edited by others between two installs: their edit belongs to what comes back", () => {
    put('{\n  "model": "opus"\n}\n')
    install(options)
    put(text().replace('"opus"', '"sonnet"'))
    const again = install({ ...options, exePath: "/new/ctxbridge" })
    expect(readFileSync(again.backup as string, "utf8")).toBe('{\n  "model": "sonnet"\n}\n')
    expect(readdirSync(join(options.dataHome, "install"))).toHaveLength(2)
    expect(uninstall(options).action).toBe("restored")
    expect(text()).toBe('{\n  "model": "sonnet"\n}\n')
  })

  test("put back by hand between two installs", () => {
    put("{ }")
    install(options)
    put("{\n}")
    install(options)
    uninstall(options)
    expect(text()).toBe("{\n}")
  })

  test("with hooks of ours that no manifest knows", () => {
    put('{\n  "a": 1\n}')
    install(options)
    rmSync(options.dataHome, { recursive: true })
    install(options)
    expect(uninstall(options).action).toBe("restored")
    expect(text()).toBe('{\n  "a": 1\n}')
  })

  test("with a damaged manifest or a lost backup, ours is cut out", () => {
    for (const name of ["manifest", "orig"]) {
      put('{\n  "a": 1\n}')
      install(options)
      const folder = join(options.dataHome, "install")
      for (const entry of readdirSync(folder))
        if (entry.includes(name)) writeFileSync(join(folder, entry), "?")
      expect(uninstall(options).action).toBe("edited")
      expect(text()).toBe('{\n  "a": 1\n}')
    }
  })

  test("not installed: uninstall does nothing", () => {
    put(odd)
    expect(uninstall(options)).toMatchObject({ action: "none", changed: false, removed: [] })
    expect(text()).toBe(odd)
    expect(existsSync(options.dataHome)).toBe(false)
  })
})

describe("symlinks", () => {
  test("are written through, and stay links", () => {
    const target = join(root, "dotfiles.json")
    writeFileSync(target, "{}")
    mkdirSync(dirname(file()))
    symlinkSync("../../dotfiles.json", file())
    install(options)
    expect(lstatSync(file()).isSymbolicLink()).toBe(true)
    expect(readFileSync(target, "utf8")).toContain("ctxbridge hook stop")
    uninstall(options)
    expect(readFileSync(target, "utf8")).toBe("{}")
    expect(lstatSync(file()).isSymbolicLink()).toBe(true)
  })

  test("to nothing yet: the target is made, and removed again", () => {
    mkdirSync(dirname(file()))
    symlinkSync(join(root, "new", "settings.json"), file())
    install(options)
    expect(tree(join(root, "new"))).toEqual(["settings.json"])
    uninstall(options)
    expect(existsSync(join(root, "new"))).toBe(false)
    expect(lstatSync(file()).isSymbolicLink()).toBe(true)
  })

  test("in a ring are an error", () => {
    mkdirSync(dirname(file()))
    symlinkSync("settings.json", file())
    expect(caught(() => install(options)).code).toBe("settings-file")
  })
})

describe("--dry-run", () => {
  test("says what it would do, and does not", () => {
    put('{\n  "model": "opus"\n}\n')
    const before = tree(root)
    const plan = install({ ...options, dryRun: true })
    expect(plan).toMatchObject({ action: "edited", changed: true, dryRun: true, backup: undefined })
    expect(plan.diff.slice(0, 4)).toEqual([
      " {",
      '-  "model": "opus"',
      '+  "model": "opus",',
      '+  "hooks": {',
    ])
    expect(plan.diff.at(-1)).toBe(" }")
    expect(tree(root)).toEqual(before)
    expect(text()).toBe('{\n  "model": "opus"\n}\n')

    install(options)
    const installed = text()
    const back = uninstall({ ...options, dryRun: true })
    expect(back).toMatchObject({ action: "restored", changed: true, dryRun: true })
    expect(back.diff).toContain('+  "model": "opus"')
    expect(text()).toBe(installed)
  })

  test("on no file at all", () => {
    expect(install({ ...options, dryRun: true })).toMatchObject({ action: "created", changed: true })
    expect(tree(options.home)).toEqual([])
    expect(existsSync(options.dataHome)).toBe(false)
  })
})

describe("errors name the file and change nothing", () => {
  test("broken JSON", () => {
    put('{\n  "a": 1,\n}')
    const error = caught(() => install(options))
    expect(error.code).toBe("settings-syntax")
    expect(error.message).toBe(`${file()}: line 2, column 9: trailing commas are not allowed`)
    expect(error.hint).toContain("strict JSON")
    expect(text()).toBe('{\n  "a": 1,\n}')
    expect(existsSync(options.dataHome)).toBe(false)
    expect(caught(() => uninstall(options)).code).toBe("settings-syntax")
  })

  test("not UTF-8", () => {
    mkdirSync(dirname(file()))
    writeFileSync(file(), Buffer.from('{"a": "\xff"}', "latin1"))
    expect(caught(() => install(options)).code).toBe("settings-encoding")
  })

  test("a folder in the place of the file, a file in the place of the folder", () => {
    mkdirSync(file(), { recursive: true })
    expect(caught(() => install(options)).code).toBe("settings-file")
    rmSync(dirname(file()), { recursive: true })
    writeFileSync(dirname(file()), "")
    expect(caught(() => install(options)).code).toBe("settings-file")
    expect(existsSync(options.dataHome)).toBe(false)
  })

  test("nowhere to remember: the settings are not touched", () => {
    writeFileSync(join(root, "data"), "")
    expect(caught(() => install(options)).code).toBe("settings-file")
    expect(tree(options.home)).toEqual([])
  })

  test.skipIf(process.getuid?.() === 0)("a file that is write-protected", () => {
    put("{}", 0o444)
    expect(caught(() => install(options)).code).toBe("settings-file")
    expect(text()).toBe("{}")
  })

  test("a binary of another name", () => {
    expect(caught(() => install({ ...options, exePath: "/usr/bin/bun" })).code).toBe("not-ctxbridge")
  })
})
