/** Calls into the C library: what a failure is taken for. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { closeSync, constants, openSync, writeSync } from "node:fs"
import { join } from "node:path"
import { errno, fileCalls, readable, tryLock, writable } from "../../../src/base/libc.ts"
import { tempFolder } from "../../support/temp.ts"

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
