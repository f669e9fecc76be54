/** `doctor` of the compiled file: each fault is made, found, repaired where that is safe, and then gone. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { logError } from "../../src/base/log.ts"
import { spaceFinding } from "../../src/cli/doctor/folder-checks.ts"
import { spoolFinding } from "../../src/cli/doctor/setting-checks.ts"
import { databasePath } from "../../src/views/database.ts"
import { binary, run } from "../support/binary.ts"
import type { Found } from "../support/doctor.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const HOUR = 3_600_000
const DAY = 24 * HOUR
const SECRET = "the heron nests below the weir"

interface Report {
  readonly code: number
  readonly ok: boolean
  readonly findings: readonly Found[]
  readonly repairs: readonly { readonly what: string; readonly error?: string }[]
}

/** A machine whose user has installed us and uses Claude Code. */
class Patient extends Machine {
  readonly programs = join(this.root, "bin")
  readonly temp = join(this.root, "tmp")
  readonly settings = join(this.home, ".claude", "settings.json")

  constructor() {
    super()
    for (const folder of [this.programs, this.temp]) mkdirSync(folder)
    symlinkSync(binary(), join(this.programs, "ctxbridge"))
    this.program("claude", "echo '2.1.112 (Claude Code)'")
    this.env["PATH"] = `${this.programs}:/usr/bin:/bin`
    this.env["TMPDIR"] = this.temp
    this.env["TZ"] = "UTC"
  }

  program(name: string, script: string, folder = this.programs): string {
    const file = join(folder, name)
    mkdirSync(folder, { recursive: true })
    rmSync(file, { force: true })
    writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return file
  }

  cli(args: readonly string[], env: Record<string, string> = {}) {
    return run(args, { env: { ...this.env, ...env } as Record<string, string>, cwd: this.cwd })
  }

  async healthy(): Promise<this> {
    const session = this.session()
    session.turn(SECRET).flush()
    this.age(session.path, 2 * DAY)
    for (const command of [["install"], ["import"]]) {
      expect(await this.cli(command)).toMatchObject({ code: 0, stderr: "" })
    }
    return this
  }

  async doctor(args: readonly string[] = [], env: Record<string, string> = {}): Promise<Report> {
    const { code, stdout, stderr } = await this.cli(["doctor", ...args, "--json"], env)
    expect(stderr).toBe("")
    // No text of a transcript, and nothing left behind by what was tried.
    expect(stdout).not.toContain(SECRET)
    expect(readdirSync(this.temp)).toEqual([])
    const report = JSON.parse(stdout)
    expect(report.ok).toBe(code === 0)
    return { code, ...report }
  }

  age(path: string, ms: number): void {
    const then = (Date.now() - ms) / 1000
    utimesSync(path, then, then)
  }

  edit(change: (settings: Settings) => void, file = this.settings): void {
    const settings = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {}
    change(settings)
    mkdirSync(join(file, ".."), { recursive: true })
    writeFileSync(file, JSON.stringify(settings, null, 2))
  }
}

interface Settings {
  hooks?: Record<string, { matcher?: string; hooks: { type: string; command: string; timeout?: number }[] }[]>
  [key: string]: unknown
}

const of = ({ findings }: Report, check: string): Found[] => findings.filter((one) => one.check === check)
const states = (report: Report, check: string): string[] => of(report, check).map(({ state }) => state)
const bad = (report: Report): Found[] =>
  report.findings.filter(({ state }) => state === "warn" || state === "fail")

/** Every file with its content; SQLite's shared memory is no content. */
function tree(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return Object.fromEntries(
    entries
      .map((one) => join(one.parentPath, one.name))
      .filter((path) => !/-(wal|shm)$/.test(path) && !path.endsWith("archive.db"))
      .map((path) => {
        const stats = lstatSync(path)
        const content = stats.isFile() ? readFileSync(path, "base64") : ""
        return [path, `${stats.mode} ${stats.isFile() ? stats.mtimeMs : ""} ${content}`]
      }),
  )
}

describe("a machine where all is well", () => {
  let patient: Patient
  beforeAll(async () => {
    patient = await new Patient().healthy()
  })
  afterAll(() => patient[Symbol.dispose]())

  test("nothing is found, and nothing is changed by looking", async () => {
    const before = tree(patient.root)
    const report = await patient.doctor()
    expect(bad(report)).toEqual([])
    expect(report.code).toBe(0)
    expect(of(report, "runs")[0]!.text).toStartWith("6 hooks run: exit code 0")
    expect(of(report, "claude")[0]!.text).toContain("2.1.112")
    expect(of(report, "archived")[0]!.text).toContain("all in the vault")
    expect(tree(patient.root)).toEqual(before)
    const words = await patient.cli(["doctor"])
    expect(words).toMatchObject({ code: 0, stderr: "" })
    expect(words.stdout).toEndWith("All good.\n")
    expect(words.stdout).not.toContain("\x1b")
    expect(await patient.doctor(["--fix"])).toMatchObject({ code: 0, repairs: [] })
    expect(patient.processes()).toEqual([])
  })

  test("--deep reads every byte", async () => {
    const report = await patient.doctor(["--deep"])
    expect(bad(report)).toEqual([])
    expect(of(report, "vault")[0]!.text).toContain("every byte checked")
  })

  test("tells of variables and options that do not do what they seem to", async () => {
    const report = await patient.doctor([], {
      BUN_CONFIG_MAX_HTTP_REQUESTS: "1",
      CTXBRIDGE_RESTORE_BUGDET: "5",
      CTXBRIDGE_RESTORE_BUDGET: "many",
      CLAUDE_FLOW_COMPACT_INSTRUCTION_BUDGET: "100",
      CLAUDE_FLOW_COMPACT_RESTORE_BUDGET: "100",
    })
    expect(report.code).toBe(0)
    expect(bad(report).map(({ text }) => text)).toEqual([
      "BUN_CONFIG_MAX_HTTP_REQUESTS is set in your environment",
      "CTXBRIDGE_RESTORE_BUGDET is not an option",
      expect.stringContaining('"many" is not allowed (0 to 9500)'),
    ])
    expect(of(report, "variables").at(-1)!.details).toEqual([
      "CLAUDE_FLOW_COMPACT_RESTORE_BUDGET is not read: CTXBRIDGE_RESTORE_BUDGET is set",
      "CLAUDE_FLOW_COMPACT_INSTRUCTION_BUDGET sets instructions.budget",
    ])
    expect(of(await patient.doctor([], { CTXBRIDGE_CAPTURE: "off" }), "config")[0]!.text).toContain(
      "capture.enabled is off",
    )
  })

  test("names variables that ask for what this version does not have, without their values", async () => {
    const set = {
      RUFLO_DEBUG: "1",
      CLAUDE_MEMORY_DB: "zqpassword",
      CLAUDE_TEXT_PRUNE_THRESHOLD: "20000",
    }
    const report = await patient.doctor([], set)
    expect(report.code).toBe(0)
    expect(bad(report).map(({ text }) => text)).toEqual([
      "RUFLO_DEBUG has no effect: this version does not use it",
      "CLAUDE_MEMORY_DB has no effect: this version does not use it",
      "CLAUDE_TEXT_PRUNE_THRESHOLD has no effect: this version does not use it",
    ])
    const env = { ...patient.env, ...set }
    for (const args of [
      ["config", "list"],
      ["config", "list", "--json"],
    ]) {
      const { code, stdout, stderr } = await run(args, { env, cwd: patient.cwd })
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      for (const name of Object.keys(set)) expect(stdout).toContain(name)
      expect(stdout + JSON.stringify(report)).not.toContain("zqpassword")
    }
  })

  test("takes the host's version from the program or the transcripts, and warns when it is too old", async () => {
    patient.program("claude", "echo '1.0.3 (Claude Code)'")
    expect(states(await patient.doctor(), "claude")).toEqual(["warn"])
    patient.program("claude", "exit 1")
    const [silent] = of(await patient.doctor(), "claude")
    expect(silent).toMatchObject({ state: "ok", text: "Claude Code 2.1.112 wrote the latest transcript" })
    patient.program("claude", "echo '2.1.329 (Claude Code)'")
    const [newest] = of(await patient.doctor(), "claude")
    expect(newest!.details.join()).toContain("compactions answered by plugins")
    expect(newest!.details.join()).not.toContain("cannot")
  })
})

test("a machine with nothing on it can be examined, and no folder is made", async () => {
  using patient = new Patient()
  rmSync(join(patient.programs, "claude"))
  const report = await patient.doctor()
  expect(report.code).toBe(1)
  expect(bad(report).map(({ check }) => check)).toEqual(["hooks"])
  expect(states(report, "claude")).toEqual(["skipped"])
  expect(existsSync(patient.dataHome)).toBe(false)
  const fixed = await patient.doctor(["--fix"])
  expect(fixed).toMatchObject({ code: 0, repairs: [{ what: "register the hooks in the user settings" }] })
  expect(bad(fixed)).toEqual([])
})

test("many faults at once are found, repaired, and gone", async () => {
  using patient = await new Patient().healthy()
  const { dataHome } = patient
  // Others can read it.
  chmodSync(dataHome, 0o755)
  // A hook is missing, another's timeout was meant as milliseconds.
  patient.edit((settings) => {
    delete settings.hooks!["Stop"]
    settings.hooks!["Notification"] = [{ hooks: [{ type: "command", command: "beep", timeout: 5000 }] }]
    settings["cleanupPeriodDays"] = 20
  })
  // What dead processes left.
  const leftover = join(dataHome, "sessions", "x.json.123")
  mkdirSync(join(dataHome, "sessions"), { recursive: true })
  writeFileSync(leftover, "{", { mode: 0o600 })
  patient.age(leftover, 2 * 3_600_000)
  // A transcript that nobody archived and that is about to be deleted.
  const lost = patient.session()
  lost.turn(SECRET).flush()
  patient.age(lost.path, 19 * DAY)
  // A session without a transcript.
  const silent = join(dataHome, "sessions", "5e551011-0000-4000-8000-0000000000ff.json")
  writeFileSync(silent, JSON.stringify({ prompt: SECRET }), { mode: 0o600 })
  patient.age(silent, 3_600_000)
  // The job did not come.
  const copy = "home/gone.jsonl.zst"
  const marker = `pending/${Bun.hash.xxHash64(copy, 0n).toString(16)}.json`
  for (const [name, content] of [
    ["requests/1.json", { transcripts: [lost.path], sweep: [], settle: false }],
    [marker, { path: lost.path, copy, session: "gone" }],
  ] as const) {
    const file = join(dataHome, name)
    mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 })
    writeFileSync(file, JSON.stringify(content), { mode: 0o600 })
    patient.age(file, 5 * 3_600_000)
  }
  logError(join(dataHome, "state"), { event: "stop", error: new Error("no room") })

  const report = await patient.doctor()
  expect(report.code).toBe(1)
  expect(Object.fromEntries(bad(report).map(({ check, state }) => [check, state]))).toEqual({
    hooks: "fail",
    timeouts: "warn",
    private: "warn",
    leftovers: "warn",
    pending: "warn",
    requests: "warn",
    archived: "warn",
    "clean-up": "fail",
    silent: "warn",
    log: "warn",
  })
  expect(of(report, "hooks")[0]!.text).toBe("user settings: no hook for Stop")
  expect(of(report, "timeouts")[0]!.details).toEqual(["user, Notification: 5000 s"])
  const due = new Date(statSync(lost.path).mtimeMs + 20 * DAY).toISOString().slice(0, 10)
  expect(of(report, "clean-up")[0]!.text).toContain(
    `1 transcript within a week, from ${due} on, after 20 days;`,
  )
  expect(of(report, "clean-up")[0]!.details).toEqual([`${due} ${lost.session}`])
  expect(of(report, "log")[0]!.details[0]).toContain("stop: no room")

  const words = await patient.cli(["doctor"])
  expect(words).toMatchObject({ code: 1, stderr: "" })
  expect(words.stdout).toContain("--fix would archive what is missing\n")
  const before = tree(patient.root)
  const dry = await patient.doctor(["--fix", "--dry-run"])
  expect(dry.repairs.length).toBe(5)
  expect(bad(dry).length).toBe(bad(report).length)
  expect(tree(patient.root)).toEqual(before)

  const fixed = await patient.doctor(["--fix"])
  expect(fixed.repairs.map(({ error }) => error)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  expect(fixed.code).toBe(0)
  // What it cannot judge, it leaves.
  expect(bad(fixed).map(({ check }) => check)).toEqual(["timeouts", "silent", "log"])
  expect(of(fixed, "clean-up")[0]).toMatchObject({ state: "ok", details: [`${due} ${lost.session}`] })
  expect(statSync(dataHome).mode & 0o777).toBe(0o700)
  expect(existsSync(leftover)).toBe(false)
  expect(await patient.cli(["verify"])).toMatchObject({ code: 0 })
})

test("a repair that did not help is no repair", async () => {
  using patient = await new Patient().healthy()
  // Nobody could settle it: it has the name of another copy's marker.
  const marker = join(patient.dataHome, "pending", "0.json")
  mkdirSync(join(marker, ".."), { recursive: true, mode: 0o700 })
  writeFileSync(marker, "{}", { mode: 0o600 })
  patient.age(marker, 2 * HOUR)
  const fixed = await patient.doctor(["--fix"])
  expect(fixed.repairs).toMatchObject([
    { what: "do the work of the background job", error: "the repair ran, but did not help" },
  ])
  expect(of(fixed, "pending")).toMatchObject([
    { state: "warn", text: "1 transcript to index, the oldest for 2 h" },
  ])
})

describe("settings", () => {
  test("settings that are no JSON, or have hooks of a wrong shape, are reported", async () => {
    using patient = await new Patient().healthy()
    const sound = readFileSync(patient.settings, "utf8")
    for (const text of ["{ // mine\n}", '{"hooks": []}', `${sound.trimEnd().slice(0, -1)},}`, "\xff"]) {
      writeFileSync(patient.settings, text, "latin1")
      const report = await patient.doctor(["--fix"])
      expect({ text, code: report.code, states: states(report, "settings") }).toEqual({
        text,
        code: 1,
        states: ["fail"],
      })
      // Not repaired: the file is the user's.
      expect(readFileSync(patient.settings, "latin1")).toBe(text)
    }
    chmodSync(patient.settings, 0)
    rmSync(patient.settings)
    mkdirSync(patient.settings)
    expect(states(await patient.doctor(), "settings")).toEqual(["fail"])
  })

  test("hooks whose binary has moved are reported and repaired", async () => {
    using patient = await new Patient().healthy()
    const gone = join(patient.root, "gone", "ctxbridge")
    patient.edit((settings) => {
      for (const [group] of Object.values(settings.hooks!)) {
        group!.hooks[0]!.command = group!.hooks[0]!.command.replace(/\S*ctxbridge/, gone)
      }
    })
    const report = await patient.doctor()
    expect(of(report, "binary")).toMatchObject([
      { state: "fail", text: expect.stringContaining("not exist") },
    ])
    patient.program("ctxbridge", "exit 0", join(patient.root, "gone"))
    chmodSync(gone, 0o644)
    const closed = of(await patient.doctor(), "binary")[0]
    expect(closed).toMatchObject({ state: "fail", text: expect.stringContaining("cannot be run") })
    const fixed = await patient.doctor(["--fix"])
    expect({ code: fixed.code, bad: bad(fixed) }).toEqual({ code: 0, bad: [] })
  })

  test("a hook that fails when it is run is reported, and one of another version", async () => {
    using patient = await new Patient().healthy()
    const other = patient.program(
      "ctxbridge",
      'case "$1 $2" in --version*) echo "ctxbridge 0.0.9" ;; "hook stop") echo oops >&2 ;;\n' +
        '"hook pre-compact") echo "{}" ;; "hook session-end") exit 3 ;; esac',
      join(patient.root, "other"),
    )
    patient.edit((settings) => {
      for (const [group] of Object.values(settings.hooks!)) {
        group!.hooks[0]!.command = group!.hooks[0]!.command.replace(/\S*ctxbridge/, other)
      }
    })
    const report = await patient.doctor()
    expect(report.code).toBe(1)
    expect(of(report, "binary")[0]).toMatchObject({ state: "warn", text: expect.stringContaining("0.0.9") })
    const [runs] = of(report, "runs")
    expect(runs).toMatchObject({ state: "fail", text: "6 of 6 hooks failed when run" })
    const faults = runs!.details.join("\n")
    expect(faults).toContain("Stop: it wrote to stderr: oops")
    expect(faults).toContain("PreCompact: its output is not what Claude Code accepts")
    expect(faults).toContain("SessionEnd: exit code 3")
    expect(faults).toContain("UserPromptSubmit: it did not archive the transcript")
    const fixed = await patient.doctor(["--fix"])
    expect({ code: fixed.code, bad: bad(fixed) }).toEqual({ code: 0, bad: [] })
  })

  test("a hook that hangs is ended at its timeout", async () => {
    using patient = await new Patient().healthy()
    const slow = patient.program("ctxbridge", "exec sleep 60", join(patient.root, "slow"))
    patient.edit((settings) => {
      settings.hooks = { Stop: [{ hooks: [{ type: "command", command: `${slow} hook stop`, timeout: 1 }] }] }
    })
    const [runs] = of(await patient.doctor(), "runs")
    expect(runs!.details[0]).toStartWith("Stop: still running after ")
  })

  test("hooks that are there twice are reported, and what a project names is not run", async () => {
    using patient = await new Patient().healthy()
    expect((await patient.cli(["install", "--scope", "project"])).code).toBe(0)
    // The same command: Claude Code runs it once.
    expect(states(await patient.doctor(), "double")).toEqual(["ok"])

    const trace = join(patient.root, "trace")
    const foreign = patient.program("ctxbridge", `echo ran >>'${trace}'`, join(patient.cwd, "bin"))
    const project = join(patient.cwd, ".claude", "settings.json")
    patient.edit((settings) => {
      settings.hooks = {
        Stop: [{ hooks: [{ type: "command", command: `${foreign} hook stop`, timeout: 5 }] }],
      }
    }, project)
    const report = await patient.doctor()
    expect(states(report, "double")).toEqual(["warn"])
    expect(of(report, "double")[0]!.text).toStartWith("Stop: ")
    expect(states(report, "runs")).toEqual(["ok", "skipped"])
    expect(existsSync(trace)).toBe(false)
    rmSync(project)

    patient.edit((settings) => {
      settings["enabledPlugins"] = { "ctxbridge@local": true }
      settings["env"] = { BUN_OPTIONS: "--smol" }
    })
    const plugin = await patient.doctor()
    expect(of(plugin, "double")[0]).toMatchObject({
      state: "ok",
      text: "the plugin ctxbridge@local leaves the hooks to the settings",
    })
    expect(of(plugin, "bun")[0]!.text).toBe("BUN_OPTIONS is set in the user settings")
    // The plugin alone is an install.
    patient.edit((settings) => delete settings["hooks"])
    expect(of(await patient.doctor(), "hooks")[0]).toMatchObject({ state: "ok" })
  })

  test("variables that only hooks see", async () => {
    using patient = await new Patient().healthy()
    patient.edit((settings) => {
      settings["env"] = { CTXBRIDGE_HOME: "/elsewhere", CTXBRIDGE_CAPTURE: "off", XDG_DATA_HOME: "/data" }
    })
    // CTXBRIDGE_HOME is set for commands, too.
    expect(bad(await patient.doctor()).map(({ text }) => text)).toEqual([
      "CTXBRIDGE_CAPTURE is set in the user settings, and so for hooks only",
      "XDG_DATA_HOME is set in the user settings, and so for hooks only",
    ])
  })

  test("a hook of ours that leads to the real archive is not run", async () => {
    using patient = await new Patient().healthy()
    patient.edit((settings) => {
      const hook = settings.hooks!["Stop"]![0]!.hooks[0]!
      hook.command = `CTXBRIDGE_HOME=${patient.dataHome} ${hook.command}`
    })
    const before = tree(patient.dataHome)
    expect(states(await patient.doctor(), "runs")).toEqual(["ok", "skipped"])
    expect(tree(patient.dataHome)).toEqual(before)
  })

  test("the narrowest file decides on the clean-up, which comes once a day", async () => {
    using patient = await new Patient().healthy()
    const set = (file: string, days: number) =>
      patient.edit((settings) => {
        settings["cleanupPeriodDays"] = days
      }, file)
    set(patient.settings, 1)
    const sweep = join(patient.home, ".claude", ".last-cleanup")
    writeFileSync(sweep, "")
    const [due] = of(await patient.doctor(), "clean-up")
    const from = new Date(statSync(sweep).mtimeMs + DAY).toISOString().slice(0, 10)
    expect(due!.text).toContain(
      `1 transcript within a week, from ${from} on, after 1 day; all are in the vault`,
    )
    // In the time zone of whoever reads it: here 14 hours before Greenwich.
    const [early] = of(await patient.doctor([], { TZ: "XXX-14" }), "clean-up")
    const there = new Date(statSync(sweep).mtimeMs + DAY + 14 * HOUR).toISOString().slice(0, 10)
    expect(early!.text).toContain(`from ${there} on`)
    set(join(patient.cwd, ".claude", "settings.local.json"), 400)
    const [later] = of(await patient.doctor(), "clean-up")
    expect(later!.text).toContain("nothing this week, after 400 days")
  })
})

describe("the archive", () => {
  test.skipIf(process.getuid?.() !== 0)("files of another user are reported", async () => {
    using patient = await new Patient().healthy()
    chownSync(databasePath(patient.dataHome), 4711, 4711)
    const report = await patient.doctor(["--fix"])
    expect(of(report, "owner")).toMatchObject([{ state: "fail", details: [databasePath(patient.dataHome)] }])
  })

  test.skipIf(process.getuid?.() === 0)("a folder that cannot be written is reported", async () => {
    using patient = await new Patient().healthy()
    chmodSync(patient.dataHome, 0o500)
    const report = await patient.doctor()
    chmodSync(patient.dataHome, 0o700)
    expect(of(report, "owner")).toMatchObject([{ state: "fail", details: [patient.dataHome] }])
  })

  test("a file where the data folder should be is reported", async () => {
    using patient = await new Patient().healthy()
    rmSync(patient.dataHome, { recursive: true })
    writeFileSync(patient.dataHome, "")
    const report = await patient.doctor()
    expect(report.code).toBe(1)
    expect(of(report, "owner")).toMatchObject([
      { state: "fail", text: `${patient.dataHome} is not a folder` },
    ])
    // What hooks do is seen in an archive of their own.
    expect(states(report, "runs")).toEqual(["ok"])
    expect(report.findings.filter(({ text }) => text.includes("could not be checked"))).toEqual([])
  })
})

test("what waits in a spool is reported", () => {
  expect(spoolFinding({ files: 0, bytes: 0 }).state).toBe("ok")
  expect(spoolFinding({ files: 2, bytes: 3000 })).toMatchObject({
    state: "warn",
    text: "3.0 KB in 2 files wait for the data folder",
  })
})

test("little room is a warning, none a failure", () => {
  const found = (free: number) => spaceFinding("/", free)
  expect(found(5e9).state).toBe("ok")
  expect(found(5e8)).toMatchObject({ state: "warn", text: "only 500 MB free where the archive is" })
  expect(found(1e6).state).toBe("fail")
})

test("a PATH with no ctxbridge, or another one, is a warning", async () => {
  using patient = await new Patient().healthy()
  const report = await patient.doctor([], { PATH: "/usr/bin:/bin" })
  expect(of(report, "path")).toMatchObject([{ state: "warn", text: "ctxbridge is not on PATH" }])
  patient.program("ctxbridge", "echo ctxbridge 0.0.9")
  expect(of(await patient.doctor(), "path")).toMatchObject([
    { state: "warn", text: expect.stringMatching(/another one: .*, 0\.0\.9$/) },
  ])
})
