/** The file functions of hooks, where they must do something else than node:fs does, or where the system fails. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync as readByNode, writeFileSync as writeByNode } from "node:fs"
import { join } from "node:path"
import {
  appendFileSync,
  beforeMaking,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from "../../../src/base/fs.ts"
import { canFail, failing } from "../../support/failing.ts"
import { tempFolder } from "../../support/temp.ts"

setDefaultTimeout(60_000)

/** Whoever removed the data folder of a job just then got it back, empty. */
test("a folder is unmade if it must no longer be made by then", () => {
  using folder = tempFolder()
  const [above, below] = [join(folder.path, "above"), join(folder.path, "above/below")]
  let calls = 0
  beforeMaking(() => {
    if (++calls === 2) throw new Error("removed")
  })
  try {
    expect(() => mkdirSync(below, { recursive: true })).toThrow("removed")
    expect(existsSync(above)).toBe(false)
    mkdirSync(above)
    calls = 1
    expect(() => mkdirSync(below, { recursive: true })).toThrow("removed")
    expect(existsSync(above)).toBe(true)
    mkdirSync(below, { recursive: true })
    expect(existsSync(below)).toBe(true)
  } finally {
    beforeMaking(() => {})
  }
})

test("what is not open cannot be closed", () => {
  const fd = openSync(import.meta.path, "r")
  closeSync(fd)
  expect(() => closeSync(fd)).toThrow(expect.objectContaining({ code: "EBADF", syscall: "close" }))
})

test.skipIf(!canFail)("a descriptor is closed once, even if that fails", () => {
  using folder = tempFolder()
  const file = join(folder.path, "file")
  writeByNode(file, "")
  const script = join(folder.path, "close.ts")
  writeByNode(
    script,
    `import { closeSync, fstatSync, openSync } from ${JSON.stringify(join(import.meta.dir, "../../../src/base/fs.ts"))}
     const fd = openSync(process.argv[2], "r")
     let code
     try { closeSync(fd) } catch (error) { code = error.code }
     console.log(code, fstatSync(fd).isCharacterDevice())`,
  )
  const env = { ...process.env, ...failing(folder.path, { FAIL_CLOSE: file }) }
  const { stdout, stderr } = Bun.spawnSync([process.execPath, script, file], { env })
  expect({ stdout: String(stdout), stderr: String(stderr) }).toEqual({ stdout: "EIO true\n", stderr: "" })
})

test("a pipe in a file's place holds nobody up", () => {
  using folder = tempFolder()
  const pipe = join(folder.path, "pipe")
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0)
  expect(readFileSync(pipe, "utf8")).toBe("")
  for (const write of [writeFileSync, appendFileSync]) {
    expect(() => write(pipe, "text", { mode: 0o600 })).toThrow(expect.objectContaining({ code: "ENXIO" }))
  }
})

test("text is written and added, whatever is there", () => {
  using folder = tempFolder()
  const file = join(folder.path, "file")
  writeFileSync(file, "a long line\n", { mode: 0o600 })
  writeFileSync(file, "größer\n", { mode: 0o600 })
  appendFileSync(file, "und mehr\n", { mode: 0o600 })
  expect(readByNode(file, "utf8")).toBe("größer\nund mehr\n")
  expect(readFileSync(file, "utf8")).toBe("größer\nund mehr\n")
})
