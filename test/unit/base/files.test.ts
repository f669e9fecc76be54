import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { isMissing } from "../../../src/base/errors.ts"
import { readOrdinary, readReplaced, replaceSoon } from "../../../src/base/files.ts"
import {
  dropFile,
  fileNamesIn,
  hashName,
  readJson,
  takeFile,
  writeJson,
} from "../../../src/base/json-files.ts"
import { endOfLines, linesIn } from "../../../src/record/lines-with.ts"
import { tempFolder } from "../../support/temp.ts"

/** Small files, replaced while others read them. */
describe("files", () => {
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
})

/** Small JSON files: what a reader finds, and what is left of those that are taken. */
describe("json files", () => {
  test("what is written is read, in a folder of our own", () => {
    using folder = tempFolder()
    const file = join(folder.path, "ours", `${hashName("a/b\0c")}.json`)
    writeJson(file, { a: [1, "ü"] })
    expect(readJson(file)).toEqual({ a: [1, "ü"] })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder.path, "ours")).mode & 0o777).toBe(0o700)
    expect(fileNamesIn(join(folder.path, "ours"))).toEqual([`${hashName("a/b\0c")}.json`])
  })

  test("names are what earlier versions have given", () => {
    expect(hashName("5e551011-0000-4000-8000-000000000001")).toBe(
      Bun.hash.xxHash64("5e551011-0000-4000-8000-000000000001").toString(16),
    )
  })

  test("half a file, a folder, and nothing at all are no JSON", () => {
    using folder = tempFolder()
    writeFileSync(join(folder.path, "half"), '{"a":')
    mkdirSync(join(folder.path, "folder"))
    for (const name of ["half", "folder", "nothing", "half/below"])
      expect(readJson(join(folder.path, name))).toBeUndefined()
  })

  test("a file is taken once, and dropped however often", () => {
    using folder = tempFolder()
    const [file, taken] = [join(folder.path, "a.json"), join(folder.path, "a.taken")]
    writeJson(file, 1)
    expect(takeFile(file, taken)).toBe(true)
    expect(takeFile(file, taken)).toBe(false)
    expect(readdirSync(folder.path)).toEqual(["a.taken"])
    dropFile(taken)
    dropFile(taken)
    expect(fileNamesIn(folder.path)).toEqual([])
  })

  test("a folder that cannot be listed has no names only if the caller says so", () => {
    using folder = tempFolder()
    const file = join(folder.path, "file")
    writeFileSync(file, "")
    expect(fileNamesIn(join(folder.path, "none"), isMissing)).toEqual([])
    expect(fileNamesIn(file)).toEqual([])
    expect(() => fileNamesIn(folder.path.repeat(200), isMissing)).toThrow("ENAMETOOLONG")
  })
})

/** Lines in bytes, against the same lines in text. */
describe("byte lines", () => {
  const bytesOf = (text: string): Buffer => Buffer.from(text)

  test("each line comes once, with an end that tells whether it is whole", () => {
    expect([...linesIn(bytesOf("a\n\nbc"))]).toEqual([
      [0, 1],
      [2, 2],
      [3, 5],
    ])
    expect([...linesIn(bytesOf("a\n"))]).toEqual([[0, 1]])
    expect([...linesIn(bytesOf(""))]).toEqual([])
    expect(["", "a", "\n", "a\nb", "a\nb\n"].map((text) => endOfLines(bytesOf(text)))).toEqual([
      0, 0, 1, 2, 4,
    ])
  })

  test("the lines and their newlines are all of the bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "ü", "\n", "\r", "\n\n")), (parts) => {
        const bytes = bytesOf(parts.join(""))
        const lines = [...linesIn(bytes)].map(([from, to]) => bytes.toString("utf8", from, to))
        const wanted = parts.join("").split("\n")
        // Behind the last newline, there is no line.
        expect(lines).toEqual(wanted.at(-1) === "" ? wanted.slice(0, -1) : wanted)
        expect(bytes.toString("utf8", 0, endOfLines(bytes))).toBe(parts.join("").replace(/[^\n]*$/, ""))
      }),
    )
  })
})
