/** The file calls of hooks do what their namesakes of node:fs and node:path do (docs/adr/0013). */
import { afterAll, describe, expect, test } from "bun:test"
import * as nodeFs from "node:fs"
import { tmpdir } from "node:os"
import * as nodePath from "node:path"
import fc from "fast-check"
import * as fs from "../../src/base/fs.ts"
import { fileCalls } from "../../src/base/libc.ts"
import * as path from "../../src/base/path.ts"

const dir = nodeFs.mkdtempSync(nodePath.join(tmpdir(), "ctxbridge-files-"))
afterAll(() => nodeFs.rmSync(dir, { recursive: true, force: true }))

/** What a call returned or threw, as far as a caller can branch on it. */
function outcome(call: () => unknown): unknown {
  try {
    return { value: call() }
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string }
    return { code, message }
  }
}

const plainStats = (stats: fs.FileStats | undefined): unknown =>
  stats && {
    dev: stats.dev,
    ino: stats.ino,
    mode: stats.mode,
    mtimeMs: Math.floor(stats.mtimeMs),
    size: stats.size,
    file: stats.isFile(),
    directory: stats.isDirectory(),
  }

test.if(process.platform === "linux")("on Linux the C library is called", () => {
  expect(fileCalls()).toBeDefined()
})

describe("paths", () => {
  const part = fc.constantFrom(
    "a",
    "b.c",
    "..",
    ".",
    "",
    "/",
    "/x",
    "y/",
    "//z",
    "d/./e",
    "ü",
    ".config",
    "...",
  )

  test("as node:path", () => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
        expect(path.join(...parts)).toBe(nodePath.join(...parts))
        expect(path.resolve(...parts)).toBe(nodePath.resolve(...parts))
        const whole = parts.join("/")
        for (const one of [whole, parts[0]!, `/${whole}`]) {
          expect(path.resolve(one)).toBe(nodePath.resolve(one))
          expect([path.normalize(one), path.dirname(one), path.basename(one), path.isAbsolute(one)]).toEqual([
            nodePath.normalize(one),
            nodePath.dirname(one),
            nodePath.basename(one),
            nodePath.isAbsolute(one),
          ])
        }
      }),
      { numRuns: 2000 },
    )
  })
})

describe("files", () => {
  const name = fc.constantFrom(
    "a",
    "ä",
    "folder",
    "folder/b",
    "missing/c",
    "a/d",
    "x\0y",
    "link",
    "n".repeat(300),
  )

  test("reading, writing and asking, whatever is there", () => {
    nodeFs.mkdirSync(nodePath.join(dir, "folder"))
    nodeFs.symlinkSync("nowhere", nodePath.join(dir, "link"))
    fc.assert(
      fc.property(name, name, fc.string({ maxLength: 40_000 }), (first, second, text) => {
        const [one, two] = [nodePath.join(dir, first), nodePath.join(dir, second)]
        expect(outcome(() => fs.writeFileSync(one, text, { mode: 0o600 }))).toEqual(
          outcome(() => nodeFs.writeFileSync(one, text, { mode: 0o600 })),
        )
        expect(outcome(() => fs.readFileSync(one, "utf8"))).toEqual(
          outcome(() => nodeFs.readFileSync(one, "utf8")),
        )
        expect(outcome(() => fs.readFileSync(one))).toEqual(outcome(() => nodeFs.readFileSync(one)))
        expect(outcome(() => fs.realpathSync(two))).toEqual(outcome(() => nodeFs.realpathSync(two)))
        for (const flags of ["r", "a"] as const) {
          const opened = (open: (path: string, flags: "r" | "a") => number) => () => {
            const fd = open(two, flags)
            const written = outcome(() => nodeFs.writeSync(fd, "x"))
            nodeFs.closeSync(fd)
            return written
          }
          const length = (): number => (nodeFs.existsSync(two) ? nodeFs.statSync(two).size : 0)
          const before = length()
          const ours = outcome(opened((path, how) => fs.openSync(path, how)))
          const between = length()
          expect(ours).toEqual(outcome(opened((path, how) => nodeFs.openSync(path, how))))
          expect(length() - between).toBe(between - before)
        }
        for (const folder of [one, two, nodePath.dirname(two), dir]) {
          expect(outcome(() => fs.readdirSync(folder).sort())).toEqual(
            outcome(() => nodeFs.readdirSync(folder).sort()),
          )
        }
        expect(fs.existsSync(two)).toBe(nodeFs.existsSync(two))
        for (const at of [one, two]) {
          expect(outcome(() => plainStats(fs.statSync(at)))).toEqual(
            outcome(() => plainStats(nodeFs.statSync(at))),
          )
          expect(outcome(() => plainStats(fs.statSync(at, { throwIfNoEntry: false })))).toEqual(
            outcome(() => plainStats(nodeFs.statSync(at, { throwIfNoEntry: false }))),
          )
        }
        const linked = outcome(() => fs.linkSync(one, `${one}.2`))
        outcome(() => nodeFs.unlinkSync(`${one}.2`))
        expect(linked).toEqual(outcome(() => nodeFs.linkSync(one, `${one}.2`)))
        for (const gone of [`${one}.2`, `${one}.2`]) {
          const there = nodeFs.existsSync(gone)
          expect(outcome(() => fs.unlinkSync(gone))).toEqual(
            there ? { value: undefined } : outcome(() => nodeFs.unlinkSync(gone)),
          )
        }
      }),
      { numRuns: 300 },
    )
  })

  test("a file's bytes, at any place", () => {
    const file = nodePath.join(dir, "bytes")
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 5000 }),
        fc.nat(6000),
        fc.nat(100),
        fc.nat(5000),
        (bytes, position, offset, cut) => {
          const flags = fs.constants.O_RDWR | fs.constants.O_CREAT
          const fd = fs.openSync(file, flags, 0o600)
          try {
            expect(fs.writeSync(fd, bytes, 0, bytes.length, position)).toBe(bytes.length)
            expect(fs.fstatSync(fd).size).toBe(nodeFs.fstatSync(fd).size)
            const [ours, nodes] = [new Uint8Array(5100), new Uint8Array(5100)]
            const n = fs.readSync(fd, ours, offset, 5000, position)
            expect(n).toBe(nodeFs.readSync(fd, nodes, offset, 5000, position))
            expect(ours).toEqual(nodes)
            expect(ours.subarray(offset, offset + bytes.length)).toEqual(bytes)
            fs.ftruncateSync(fd, cut)
            expect(nodeFs.statSync(file).size).toBe(cut)
          } finally {
            fs.closeSync(fd)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  test("beyond four gigabytes", () => {
    const file = nodePath.join(dir, "sparse")
    const fd = fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600)
    const far = 5 * 2 ** 30
    expect(fs.writeSync(fd, new Uint8Array([1, 2, 3]), 0, 3, far)).toBe(3)
    expect(fs.fstatSync(fd).size).toBe(far + 3)
    const back = new Uint8Array(3)
    expect(fs.readSync(fd, back, 0, 3, far)).toBe(3)
    expect([...back]).toEqual([1, 2, 3])
    fs.closeSync(fd)
    nodeFs.rmSync(file)
  })

  test("a length that the bytes do not have is an error, and touches no memory", () => {
    const fd = fs.openSync(nodePath.join(dir, "a"), fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600)
    expect(outcome(() => fs.readSync(fd, new Uint8Array(4), 2, 100, 0))).toEqual(
      outcome(() => nodeFs.readSync(fd, new Uint8Array(4), 2, 100, 0)),
    )
    expect(outcome(() => fs.writeSync(fd, new Uint8Array(4), -1, 2, 0))).toEqual(
      outcome(() => nodeFs.writeSync(fd, new Uint8Array(4), -1, 2, 0)),
    )
    fs.closeSync(fd)
    expect(outcome(() => fs.closeSync(fd))).toMatchObject({ code: "EBADF" })
  })

  test("folders: made with all above them, or as node says", () => {
    const deep = nodePath.join(dir, "m", "n", "o")
    expect(outcome(() => fs.mkdirSync(deep, { mode: 0o700 }))).toMatchObject({ code: "ENOENT" })
    fs.mkdirSync(deep, { recursive: true, mode: 0o700 })
    fs.mkdirSync(deep, { recursive: true, mode: 0o700 })
    expect(fs.statSync(deep).isDirectory()).toBe(true)
    expect(outcome(() => fs.mkdirSync(deep, { mode: 0o700 }))).toMatchObject({ code: "EEXIST" })
    expect(outcome(() => fs.renameSync(deep, nodePath.join(dir, "absent", "p")))).toMatchObject({
      code: "ENOENT",
    })
    fs.renameSync(deep, nodePath.join(dir, "q"))
    expect(fs.existsSync(nodePath.join(dir, "q"))).toBe(true)
  })
})
