import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { TARGETS } from "../../../build/release/targets.ts"
import { releases } from "../../../package.json"
import { ownProgram } from "../../../src/base/own-program.ts"
import { compareVersions, offersFor, parseSums } from "../../../src/cli/update/get-binary.ts"
import { platformOf, withoutBaseline } from "../../../src/cli/update/replace-running.ts"
import { OPTIONS } from "../../../src/config/options.ts"

const HERE = { platform: "linux", arch: "x64", maps: "", cpu: "flags : sse avx2 bmi", isTranslated: false }

test.each([
  [{}, "linux-x64"],
  [{ cpu: "flags : sse" }, "linux-x64-baseline"],
  [{ maps: "7f00 r-xp /lib/ld-musl-x86_64.so.1" }, "linux-x64-musl"],
  [{ maps: "7f00 r-xp /lib/ld-musl-x86_64.so.1", cpu: "" }, "linux-x64-musl-baseline"],
  [{ arch: "arm64", cpu: "" }, "linux-arm64"],
  [{ arch: "arm64", maps: "/lib/ld-musl-aarch64.so.1" }, "linux-arm64-musl"],
  [{ platform: "darwin" }, "darwin-x64"],
  [{ platform: "win32" }, "windows-x64-baseline"],
  [{ platform: "win32", arch: "arm64" }, "windows-arm64"],
  [{ platform: "darwin", isTranslated: true }, "darwin-arm64"],
  [{ platform: "darwin", arch: "arm64" }, "darwin-arm64"],
])("%j is %s, which a release has", (more, name) => {
  expect(platformOf({ ...HERE, ...more })).toBe(name)
  expect(TARGETS.map((target) => target.name)).toContain(name)
})

test.each([{ arch: "riscv64" }, { platform: "freebsd" }])("there is none for %j", (more) => {
  expect(platformOf({ ...HERE, ...more })).toBeUndefined()
})

describe("SHA256SUMS", () => {
  const [a, b, c] = ["a", "b", "c"].map((digit) => digit.repeat(64))
  const text = `${a}  ctxbridge-1.2.3-linux-x64
${b} *ctxbridge-1.2.3-linux-x64.gz
${a}  ctxbridge-1.10.0-rc.1-linux-x64
${c}  ctxbridge-1.10.0-rc.1-linux-x64.gz
${a}  ctxbridge-2.0.0-linux-x64-musl
${a}  ctxbridge-2.0.0-linux-x64-musl.gz
${a}  ctxbridge-3.0.0-linux-x64
${a}  ../ctxbridge-4.0.0-linux-x64
short  ctxbridge-5.0.0-linux-x64
`

  test("offers the versions that are whole, the newest first", () => {
    const sums = parseSums(text)
    expect(offersFor(sums, "linux-x64")).toEqual([
      {
        version: "1.10.0-rc.1",
        platform: "linux-x64",
        name: "ctxbridge-1.10.0-rc.1-linux-x64",
        sum: a!,
        packedSum: c!,
      },
      { version: "1.2.3", platform: "linux-x64", name: "ctxbridge-1.2.3-linux-x64", sum: a!, packedSum: b! },
    ])
    expect(offersFor(sums, "linux-x64-musl").map(({ version }) => version)).toEqual(["2.0.0"])
    expect(offersFor(sums, "darwin-x64")).toEqual([])
  })

  test("Windows' programs end in .exe", () => {
    const sums = parseSums(
      `${a}  ctxbridge-1.2.3-windows-x64.exe\n${b}  ctxbridge-1.2.3-windows-x64.exe.gz\n`,
    )
    expect(offersFor(sums, "windows-x64-baseline")).toEqual([
      {
        version: "1.2.3",
        platform: "windows-x64",
        name: "ctxbridge-1.2.3-windows-x64.exe",
        sum: a!,
        packedSum: b!,
      },
    ])
  })

  test("without a baseline, the other binary is the same", () => {
    expect(offersFor(parseSums(text), "linux-x64-baseline").map(({ platform }) => platform)).toEqual([
      "linux-x64",
      "linux-x64",
    ])
    expect(withoutBaseline("linux-x64")).toBeUndefined()
  })
})

describe("versions", () => {
  // From semver.org.
  const ORDER =
    "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1 1.2.0 1.10.0 2.0.0".split(
      " ",
    )

  test("are ordered as semver.org says", () => {
    const shuffled = ORDER.toSorted((a, b) => (Bun.hash(a) < Bun.hash(b) ? -1 : 1))
    expect(shuffled).not.toEqual(ORDER)
    expect(shuffled.sort(compareVersions)).toEqual(ORDER)
  })

  test("any two, either way round", () => {
    const version = fc
      .tuple(
        fc.nat(20),
        fc.nat(20),
        fc.nat(20),
        fc.option(fc.stringMatching(/^[a-z0-9]{1,3}(\.[a-z0-9]{1,3})?$/)),
      )
      .map(([a, b, c, rest]) => `${a}.${b}.${c}${rest === null ? "" : `-${rest}`}`)
    fc.assert(
      fc.property(version, version, (a, b) => {
        const sign = Math.sign(compareVersions(a, b))
        expect(sign + Math.sign(compareVersions(b, a))).toBe(0)
        expect(compareVersions(a, a)).toBe(0)
        // Bun's own order is npm's, which is the same.
        expect(sign).toBe(Bun.semver.order(a, b))
      }),
    )
  })
})

test("a program that has been replaced is where it was", () => {
  expect(ownProgram("/home/a/bin/ctxbridge (deleted)")).toBe("/home/a/bin/ctxbridge")
  expect(ownProgram("/home/a/bin/ctxbridge")).toBe("/home/a/bin/ctxbridge")
  expect(ownProgram()).toBe(process.execPath)
})

test("the installer and the program look for releases at the same place", () => {
  const script = readFileSync(join(import.meta.dir, "../../../install.sh"), "utf8")
  expect(/^RELEASES='(.*)'$/m.exec(script)?.[1]).toBe(releases)
})

test.each([
  ["https://example.com/x", true],
  ["http://localhost:1/x", true],
  ["file:///x", true],
  ["/x y", true],
  ["x", false],
  ["ftp://x", false],
  ["file://x", false],
])("update.from: %s is %s", (text, isOne) => {
  expect(OPTIONS["update.from"].parse(text)).toBe(isOne ? text : undefined)
})
