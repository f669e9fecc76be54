/** Small files, replaced while others read them. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readOrdinary, readReplaced, replaceSoon } from "../../../src/base/files.ts"

setDefaultTimeout(60_000)

const dir = mkdtempSync(join(tmpdir(), "ctxbridge-replace-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const text = (file: string): string => readFileSync(file, "utf8")

test("a file is replaced, and nothing is left next to it", () => {
  const file = join(dir, "new", "state.json")
  for (const content of ["one", "two", "three"]) {
    replaceSoon(file, content)
    expect(readReplaced(file, text)).toBe(content)
  }
  expect(readdirSync(join(dir, "new"))).toEqual(["state.json"])
})

test("after a kill between the two renames, the old file is read and later replaced", () => {
  const file = join(dir, "killed.json")
  replaceSoon(file, "before")
  renameSync(file, `${file}.old`)
  writeFileSync(`${file}.4242`, "never finished")
  expect(readReplaced(file, text)).toBe("before")
  replaceSoon(file, "after")
  expect(readReplaced(file, text)).toBe("after")
  replaceSoon(file, "later")
  expect(readdirSync(dir).filter((name) => name.startsWith("killed.json"))).toEqual([
    "killed.json",
    "killed.json.4242",
  ])
})

test("many processes replace it at once: none fails, and none reads half a file", async () => {
  const file = join(dir, "many.json")
  replaceSoon(file, "0".repeat(2000))
  const source = join(import.meta.dir, "../../../src/base/files.ts")
  const script = `
    import { readFileSync } from "node:fs"
    import { readReplaced, replaceSoon } from ${JSON.stringify(source)}

    for (let n = 0; n < 300; n++) {
      replaceSoon(${JSON.stringify(file)}, String(n % 10).repeat(2000))
      const text = readReplaced(${JSON.stringify(file)}, (file) => {
        try {
          return readFileSync(file, "utf8")
        } catch (error) {
          if (error.code !== "ENOENT") throw error
        }
      })
      // Between the calls of several writers it may be missed.
      if (text === undefined) continue
      if (text.length !== 2000 || new Set(text).size !== 1) throw new Error("torn: " + text.length)
    }
`
  const children = [1, 2, 3].map(() =>
    Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe" }),
  )
  for (const child of children) {
    expect([await child.exited, await child.stderr.text()]).toEqual([0, ""])
  }
  expect(readReplaced(file, text)).toHaveLength(2000)
})

test("while another process replaces it, a reader always finds it", async () => {
  const file = join(dir, "read.json")
  replaceSoon(file, "whole")
  const source = join(import.meta.dir, "../../../src/base/files.ts")
  const script = `
    import { replaceSoon } from ${JSON.stringify(source)}
    process.stdout.write("ready")
    for (;;) replaceSoon(${JSON.stringify(file)}, "whole")
  `
  const other = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" })
  const found = (file: string): string | undefined => {
    try {
      return text(file)
    } catch {
      return undefined
    }
  }
  try {
    await other.stdout.getReader().read()
    for (let n = 0; n < 10_000; n++)
      if (readReplaced(file, found) !== "whole") throw new Error(`missed at ${n}`)
  } finally {
    other.kill()
    await other.exited
  }
})

test("someone else's file is only read if it is an ordinary file within the size limit", () => {
  const file = join(dir, "ordinary.md")
  writeFileSync(file, "12345678")
  expect(readOrdinary(file, 8)).toBe("12345678")
  expect(readOrdinary(file, 7)).toBeUndefined()
  expect(readOrdinary(dir, 1 << 20)).toBeUndefined()
  if (process.platform !== "linux") return
  expect(readOrdinary("/proc/self/status", 1 << 20)).toBe("")
  expect(readOrdinary("/dev/zero", 1 << 20)).toBeUndefined()
})
