/** install.sh as a Mac would run it: BSD's tools alone, and programs of this system under the names of that one. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type BsdTools, bsdTools } from "../support/bsd-tools.ts"
import { builtBinary } from "../support/built.ts"
import { collected } from "../support/collected.ts"
import { PLATFORM, standIn, writeRelease } from "../support/release.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

const { version: OWN } = await Bun.file(join(import.meta.dir, "../../package.json")).json()
/** What may be `sh` on a Mac (sh(1) there). */
const SHELLS = ["sh", "dash", "bash --posix", "zsh --emulate sh"].filter((line) =>
  Bun.which(line.split(" ")[0]!),
)

let folder: ReturnType<typeof tempFolder>
let release: string
let bin: string

beforeEach(() => {
  folder = tempFolder()
  release = join(folder.path, "release")
  bin = join(folder.path, "home/.local/bin")
  mkdirSync(join(folder.path, "home"))
})

afterEach(() => folder[Symbol.dispose]())

/** A release for Macs. */
function releaseFor(platform: string, version: string, program: Uint8Array): void {
  writeRelease(release, version, program)
  for (const name of readdirSync(release))
    if (name.includes(PLATFORM))
      renameSync(join(release, name), join(release, name.replace(PLATFORM, platform)))
  const sums = join(release, "SHA256SUMS")
  writeFileSync(sums, readFileSync(sums, "utf8").replaceAll(PLATFORM, platform))
}

const install = (tools: BsdTools, shell = "sh", ...options: readonly string[]) =>
  collected(
    Bun.spawn(
      [
        ...[Bun.which(shell.split(" ")[0]!)!],
        ...shell.split(" ").slice(1),
        join(release, "install.sh"),
        ...options,
      ],
      {
        cwd: folder.path,
        env: { PATH: tools.path, HOME: join(folder.path, "home") },
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      },
    ),
  )

const sumOf = (program: Uint8Array): string => new Bun.CryptoHasher("sha256").update(program).digest("hex")

test("with the real binary: signed once, after its sum was checked, then registered; the demo passes", async () => {
  const program = readFileSync(builtBinary())
  releaseFor("darwin-arm64", OWN, program)
  const tools = bsdTools(folder.path)
  const ran = await install(tools, "sh", "--demo")
  expect(ran).toMatchObject({ code: 0, err: "" })
  expect(ran.out).toContain(`Getting ctxbridge ${OWN} for darwin-arm64 from ${release}\n`)
  expect(ran.out).toMatch(
    new RegExp(`^Installed +${bin}/ctxbridge\nPATH +add .*\nImport +nothing to import\n`, "m"),
  )
  expect(ran.out).toMatch(/\d+ checks passed: /)
  expect(readFileSync(tools.signed, "utf8")).toMatch(
    new RegExp(`^${sumOf(program)} +${bin}/\\.ctxbridge\\.\\d+\\.tmp\n$`),
  )
  expect(readdirSync(bin)).toEqual(["ctxbridge"])
})

test.each(SHELLS)("with `%s`, and a shell for Intel on Apple silicon", async (shell) => {
  const program = standIn("1.2.3")
  releaseFor("darwin-arm64", "1.2.3", program)
  const tools = bsdTools(folder.path, "x86_64", true)
  const ran = await install(tools, shell)
  expect(ran).toMatchObject({ code: 0, err: "" })
  expect(ran.out).toMatch(
    new RegExp(`^Installed +${bin}/ctxbridge\nPATH .*\nstand-in 1\\.2\\.3: install --quiet\n`, "m"),
  )
  expect(readFileSync(tools.signed, "utf8")).toStartWith(sumOf(program))
})

test("these tools know what a Mac's do", () => {
  const { path } = bsdTools(folder.path)
  const code = (...words: string[]): number | undefined =>
    Bun.spawnSync(["sh", "-c", words.join(" ")], { env: { PATH: path }, cwd: folder.path, stderr: "ignore" })
      .exitCode
  for (const line of [
    "mktemp --suffix=.x",
    "cp --reflink a b",
    "cp -u a b",
    "gzip --best a",
    "env -S sh",
    "uname -o",
  ])
    expect([line, code(line)]).toEqual([line, 64])
  for (const name of ["sha256sum", "readlink -f .", "stat -c %s .", "sed -i s/a/b/ x"])
    expect([name, code(name)]).toEqual([name, 127])
  expect(
    code(
      "mktemp -d here.XXXXXX && : >a && cp -- a b && mv -f -- b c && test \"$(uname -sm)\" = 'Darwin arm64'",
    ),
  ).toBe(0)
})

test("what is not what its sum says is neither signed nor run", async () => {
  releaseFor("darwin-x64", "1.2.3", standIn("1.2.3"))
  writeFileSync(
    join(release, "ctxbridge-1.2.3-darwin-x64.gz"),
    Bun.gzipSync(Buffer.from("#!/bin/sh\nexit 9\n")),
  )
  const tools = bsdTools(folder.path, "x86_64")
  const ran = await install(tools)
  expect(ran.code).toBe(1)
  expect(ran.err).toContain("is not what SHA256SUMS says\n")
  expect(readFileSync(tools.signed, "utf8")).toBe("")
  expect(readdirSync(bin)).toEqual([])
})
