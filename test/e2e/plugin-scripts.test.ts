/** The scripts of the plugin in `plugin/`, in the shells of Debian, Alpine and macOS where they are here. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { publicPluginFiles } from "../../build/public-plugin.ts"
import { releases, version } from "../../package.json"
import { collected } from "../support/collected.ts"
import { serveRelease, standIn, writeRelease } from "../support/release.ts"
import { tempFolder } from "../support/temp.ts"

const ROOT = resolve(import.meta.dir, "../..")
const RUN = join(ROOT, "plugin/run.sh")
const SETUP = join(ROOT, "plugin/setup.sh")

const LACKS =
  "The ctxbridge plugin has no program to run: it is neither on PATH nor in ~/.local/bin. Get it with /ctxbridge:setup"

let folder: ReturnType<typeof tempFolder>
let home: string
let project: string
let tools: string

beforeEach(() => {
  folder = tempFolder()
  home = join(folder.path, "my home")
  project = join(folder.path, "project")
  tools = join(folder.path, "tools")
  for (const dir of [home, project, tools]) mkdirSync(dir)
  for (const name of ["sh", "grep"]) symlinkSync(Bun.which(name)!, join(tools, name))
})
afterEach(() => folder[Symbol.dispose]())

interface How {
  readonly shell?: readonly string[]
  readonly path?: string
  readonly env?: Readonly<Record<string, string>>
}

async function run(script: string, args: readonly string[], { shell = ["sh"], path = tools, env }: How = {}) {
  return collected(
    Bun.spawn([...shell, script, ...args], {
      cwd: project,
      env: { HOME: home, PATH: path, CLAUDE_PROJECT_DIR: project, BUN_OPTIONS: "--version", ...env },
      stdin: new Blob(["{}"]),
      stdout: "pipe",
      stderr: "pipe",
    }),
  )
}

/** A program that says how it was called. */
function programIn(dir: string, words = ""): string {
  mkdirSync(dir, { recursive: true })
  const file = join(dir, "ctxbridge")
  writeFileSync(file, `#!/bin/sh\necho "${words}$* \${BUN_OPTIONS-unset}"\n`)
  chmodSync(file, 0o755)
  return dir
}

function settings(file: string, command: string): void {
  mkdirSync(join(file, ".."), { recursive: true })
  writeFileSync(file, JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command }] }] } }))
}

const SHELLS = [["sh"], ["dash"], ["bash"], ["busybox", "ash"]].filter(([name]) => Bun.which(name!) !== null)

describe.each(
  SHELLS.map((shell) => [shell.join(" "), shell.map((name, n) => (n === 0 ? Bun.which(name)! : name))]),
)("run.sh in %s", (_, shell) => {
  const hook = (how: How = {}) => run(RUN, ["hook", "stop"], { shell, ...how })

  test("calls the program on PATH, else the one in ~/.local/bin, without what Bun would obey", async () => {
    programIn(join(home, ".local/bin"), "local: ")
    expect(await hook()).toEqual({ code: 0, out: "local: hook stop unset\n", err: "" })
    const path = `${programIn(join(folder.path, "a b"), "path: ")}:${tools}`
    expect(await hook({ path })).toEqual({ code: 0, out: "path: hook stop unset\n", err: "" })
    expect(await run(RUN, ["mcp"], { shell, path })).toEqual({
      code: 0,
      out: "path: mcp --plugin unset\n",
      err: "",
    })
  })

  test("calls nothing that lies in the folder one works in", async () => {
    programIn(project, "hostile: ")
    programIn(join(project, "bin"), "hostile: ")
    for (const path of [`.:${tools}`, `bin:${tools}`, `:${tools}`])
      expect(await hook({ path })).toEqual({ code: 0, out: "", err: "" })
  })

  test("leaves the hook to the settings that have it, wherever they are", async () => {
    const path = `${programIn(join(folder.path, "bin"))}:${tools}`
    const called = { code: 0, out: "hook stop unset\n", err: "" }
    const other = join(folder.path, "other")
    for (const [file, env] of [
      [join(home, ".claude/settings.json")],
      [join(project, ".claude/settings.json")],
      [join(project, ".claude/settings.local.json")],
      [join(other, "settings.json"), { CLAUDE_CONFIG_DIR: other }],
    ] as const) {
      for (const command of [
        "BUN_OPTIONS= /x/ctxbridge hook stop",
        "'/my home/ctxbridge' hook stop",
        '"C:\\x\\ctxbridge.exe" hook stop',
      ]) {
        settings(file, command)
        expect(await hook({ path, ...(env && { env }) })).toEqual({ code: 0, out: "", err: "" })
      }
      for (const command of ["ctxbridge hook stop-it", "ctxbridge hook session-end", "echo stop"]) {
        settings(file, command)
        expect(await hook({ path, ...(env && { env }) })).toEqual(called)
      }
    }
  })

  test("without a program hooks are silent but for a session's start, and commands say what is missing", async () => {
    expect(await hook()).toEqual({ code: 0, out: "", err: "" })
    const start = await run(RUN, ["hook", "session-start"], { shell })
    expect({ ...start, out: JSON.parse(start.out) }).toEqual({
      code: 0,
      out: { systemMessage: LACKS },
      err: "",
    })
    expect(await run(RUN, ["show", "receipts"], { shell })).toEqual({ code: 0, out: `${LACKS}\n`, err: "" })
    expect(await run(RUN, ["mcp"], { shell })).toEqual({ code: 1, out: "", err: `${LACKS}\n` })
  })

  test("show tells what a command that fails has said", async () => {
    const bin = programIn(join(folder.path, "bin"))
    writeFileSync(join(bin, "ctxbridge"), "#!/bin/sh\necho out\necho err >&2\nexit 3\n")
    const shown = await run(RUN, ["show", "receipts"], { shell, path: `${bin}:${tools}` })
    expect(shown).toEqual({ code: 0, out: "out\nerr\n", err: "" })
  })
})

describe("setup.sh", () => {
  const everything = process.env["PATH"]!.split(":").filter((dir) => dir.startsWith("/usr") || dir === "/bin")
  const setup = (env: Readonly<Record<string, string>> = {}) =>
    run(SETUP, [], { path: everything.join(":"), env: { BUN_OPTIONS: "", ...env } })

  test("without an address it says so", async () => {
    const { code, out, err } = await setup()
    expect({ code, out }).toEqual({ code: 64, out: "" })
    expect(err).toStartWith("No address of releases is known.")
  })

  test("gets a release from a folder or an address, checked by its installer, and registers nothing", async () => {
    const release = join(folder.path, "release")
    writeRelease(release, version, standIn(version))
    using server = await serveRelease(release)
    for (const address of [release, `file://${release}`, server.url]) {
      const { code, out, err } = await setup({ CTXBRIDGE_RELEASES: address })
      expect({ code, err }).toEqual({ code: 0, err: "" })
      expect(out).toContain(`Installed  ${home}/.local/bin/ctxbridge\n`)
      expect(out).not.toContain("stand-in")
      const again = await setup({ CTXBRIDGE_RELEASES: address })
      expect(again).toEqual({
        code: 0,
        out: `ctxbridge ${version} is installed already. Update it with: ctxbridge update\n`,
        err: "",
      })
      Bun.spawnSync(["rm", join(home, ".local/bin/ctxbridge")])
    }
  })

  test("refuses http, and leaves nothing when nobody answers", async () => {
    for (const address of ["http://example.invalid/x", "ftp://example.invalid", "http://127.0.0.1:1"]) {
      const { code, out } = await setup({ CTXBRIDGE_RELEASES: address })
      expect({ address, out, failed: code !== 0 }).toEqual({ address, out: "", failed: true })
    }
  })
})

test("what the code says of the plugin is what lies in plugin/", () => {
  for (const [path, text] of publicPluginFiles(version))
    expect(readFileSync(join(ROOT, path), "utf8")).toBe(text)
  expect(/^RELEASES='(.*)'$/m.exec(readFileSync(SETUP, "utf8"))?.[1]).toBe(releases)
})
