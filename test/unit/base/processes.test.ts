import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { withFolderLock } from "../../../src/base/folder-lock.ts"
import { errno, fileCalls, readable, tryLock, writable } from "../../../src/base/libc.ts"
import { holdLockFile, isLockFree, withLockFile } from "../../../src/base/lock.ts"
import { lastError, logError, logPath } from "../../../src/base/log.ts"
import { processesIn } from "../../../src/base/processes.ts"
import { Machine } from "../../support/machine.ts"
import { tempFolder } from "../../support/temp.ts"

describe("processes", () => {
  /** `ps` of BSD: its letters, and its way to print, from what this system knows. */
  const BSD_PS = `#!${process.execPath}
import { readdirSync, readFileSync } from "node:fs"
if (process.argv.slice(2).join(" ") !== "-axwwE -o pid=,command=") process.exit(1)
for (const pid of readdirSync("/proc").filter(Number)) {
  const words = (name) => readFileSync("/proc/" + pid + "/" + name, "utf8").replaceAll("\\0", " ").replaceAll("\\n", "\\\\n")
  try {
    console.log(pid.padStart(5) + " " + words("cmdline") + words("environ"))
  } catch {}
}
`

  const ASK = `import { processesIn } from ${JSON.stringify(join(import.meta.dir, "../../../src/base/processes.ts"))}
console.log(JSON.stringify(processesIn(process.argv[1], "/none")))`

  /** On Linux, the ways of both systems; elsewhere, the one of that system. */
  test("processes are found by their environment, with /proc and without", async () => {
    using folder = tempFolder()
    if (process.platform === "linux") writeFileSync(join(folder.path, "ps"), BSD_PS, { mode: 0o755 })
    const env = { PATH: `${folder.path}:${process.env["PATH"]}` }
    /** In a process of its own, since programs are looked up where the PATH was at its start. */
    const withoutProc = (word: string): number[] =>
      JSON.parse(String(Bun.spawnSync([process.execPath, "-e", ASK, word], { env }).stdout))
    const word = join(folder.path, "archive")
    const child = Bun.spawn(["sleep", "60"], { env: { ...env, CTXBRIDGE_HOME: word } })
    try {
      expect(processesIn(word)).toEqual([child.pid])
      expect(withoutProc(word)).toEqual([child.pid])
      expect(withoutProc(`${word}-of-nobody`)).toEqual([])
    } finally {
      child.kill()
      await child.exited
    }
    expect(withoutProc(word)).toEqual([])
  })
})

/** Locks of files: who gets them, for how long, and what is left of them. */
describe("lock", () => {
  const openFiles = (): number => readdirSync("/dev/fd").length

  describe("a lock file", () => {
    test("is made, held by one at a time, and free when it is closed", () => {
      using folder = tempFolder()
      const file = join(folder.path, "a.lock")
      const held = holdLockFile(file, 0)!
      expect(holdLockFile(file, 0)).toBeUndefined()
      expect(isLockFree(file, 0)).toBe(false)
      closeSync(held)
      expect(isLockFree(file, 0)).toBe(true)
      const again = holdLockFile(file, 0)
      expect(again).toBeNumber()
      closeSync(again!)
    })

    test("is waited for as long as asked, and no longer", () => {
      using folder = tempFolder()
      const file = join(folder.path, "a.lock")
      const held = holdLockFile(file, 0)!
      const start = performance.now()
      expect(holdLockFile(file, 30)).toBeUndefined()
      expect(performance.now() - start).toBeGreaterThanOrEqual(30)
      closeSync(held)
    })

    test("that does not exist is free, and is not made by looking", () => {
      using folder = tempFolder()
      const file = join(folder.path, "a.lock")
      expect(isLockFree(file, 0)).toBe(true)
      expect(existsSync(file)).toBe(false)
    })

    test("has a folder, or none is held", () => {
      using folder = tempFolder()
      const file = join(folder.path, "none", "a.lock")
      expect(() => holdLockFile(file, 0)).toThrow("ENOENT")
      expect(isLockFree(file, 0)).toBe(true)
    })
  })

  test.each([
    ["a file", withLockFile],
    ["a folder", withFolderLock],
  ] as const)(
    "work is done under the lock of %s, which it gives back even when it fails; otherwise something else is done",
    (kind, withLock) => {
      using folder = tempFolder()
      const place = kind === "a file" ? join(folder.path, "a.lock") : folder.path
      const before = openFiles()
      const inner = (): string =>
        withLock(
          place,
          0,
          () => "twice",
          () => "busy",
        )
      expect(withLock(place, 0, inner, () => "never")).toBe("busy")
      const fails = (): never => {
        throw new Error("no")
      }
      expect(() => withLock(place, 0, fails, fails)).toThrow("no")
      expect(inner()).toBe("twice")
      expect(openFiles()).toBe(before)
    },
  )
})

/** Calls into the C library: what a failure is taken for. */
describe("libc", () => {
  setDefaultTimeout(60_000)

  const isLinux = process.platform === "linux"
  const O_PATH = 0o10000000
  const EBADF = 9

  test("a lock that another descriptor holds is busy", () => {
    using folder = tempFolder()
    const [one, other] = [openSync(join(folder.path, "a"), "a+"), openSync(join(folder.path, "a"), "a+")]
    expect([tryLock(one), tryLock(other), tryLock(other, true)]).toEqual([true, false, false])
    closeSync(one)
    expect(tryLock(other)).toBe(true)
    closeSync(other)
  })

  test("a file that cannot be locked is not busy, and the error says why", () => {
    using folder = tempFolder()
    // With O_PATH, a descriptor is open and yet good for nothing; elsewhere a closed one must do.
    const fd = openSync(folder.path, isLinux ? O_PATH : constants.O_RDONLY)
    if (!isLinux) closeSync(fd)
    for (const shared of [false, true]) {
      expect(() => tryLock(fd, shared)).toThrow(
        expect.objectContaining({ code: "lock-failed", message: "files cannot be locked: EBADF, flock" }),
      )
    }
    if (isLinux) closeSync(fd)
  })

  test.skipIf(!isLinux)("the number of an error is that of the call before", () => {
    expect(fileCalls()!.close(-1)).toBe(-1)
    expect(errno()).toBe(EBADF)
  })

  test("a signal is not taken for the end of the time to wait", async () => {
    using folder = tempFolder()
    const pipe = join(folder.path, "pipe")
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0)
    const fd = openSync(pipe, constants.O_RDWR)
    const heard = (): void => {}
    process.on("SIGUSR2", heard)
    const child = Bun.spawn(["sh", "-c", `while kill -USR2 ${process.pid}; do :; done`])
    try {
      const start = performance.now()
      expect(readable(fd, 300)).toBe(false)
      expect(performance.now() - start).toBeGreaterThanOrEqual(300)
    } finally {
      child.kill("SIGKILL")
      await child.exited
      process.off("SIGUSR2", heard)
      closeSync(fd)
    }
  })

  test("writable says whether there is room in a pipe", () => {
    using folder = tempFolder()
    const pipe = join(folder.path, "pipe")
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0)
    const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
    expect(writable(fd, 0)).toBe(true)
    const fill = (): void => {
      for (;;) writeSync(fd, Buffer.alloc(4096))
    }
    expect(fill).toThrow(expect.objectContaining({ code: "EAGAIN" }))
    expect(writable(fd, 10)).toBe(false)
    closeSync(fd)
  })
})

/** The log of what went wrong. */
describe("log", () => {
  /** What is there and cannot be read is told: an unreadable vault was "0 B" to the model, such a settings file no file. */
  test("behind half a line in the log: the entry before it, not one of the file before", () => {
    using machine = new Machine()
    logError(machine.root, { event: "older", error: new Error("older") })
    renameSync(logPath(machine.root), `${logPath(machine.root)}.1`)
    logError(machine.root, { event: "latest", error: new Error("latest") })
    writeFileSync(logPath(machine.root), '5\n{"time": "2026-0', { flag: "a" })
    expect(lastError(machine.root)).toMatchObject({ event: "latest", message: "latest" })
  })
})
