/** What the pages say of the code is what the code says. `npm run docs` writes the generated blocks. */
import { describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { INSTALLERS, withReleases } from "../build/release/installers.ts"
import {
  blockOf,
  optionsTable,
  pickerKeysTable,
  releasesOffered,
  releasesTold,
  withBlock,
} from "../docs/blocks.ts"
import { commandBlock } from "../docs/generate.ts"
import { releases } from "../package.json"
import { EXIT } from "../src/base/errors.ts"
import { wholeOverview } from "../src/cli/overview.ts"
import { createStyle } from "../src/cli/style.ts"
import { OPTIONS } from "../src/config/options.ts"

const ROOT = join(import.meta.dir, "..")
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8")

const PAGES = [...new Bun.Glob("**/*.md").scanSync(ROOT)]
  .filter((path) => !/(^|\/)(node_modules|dist)\//.test(path))
  .sort()

describe("generated blocks", () => {
  test("docs/configuration.md has the option table", () => {
    expect(blockOf(read("docs/configuration.md"), "options")).toBe(optionsTable())
  })

  test("docs/picker.md has the picker's keys", () => {
    expect(blockOf(read("docs/picker.md"), "picker-keys")).toBe(pickerKeysTable())
  })

  test("docs/commands.md has the commands of `ctxbridge --help`", async () => {
    expect(blockOf(read("docs/commands.md"), "commands")).toBe(await commandBlock())
  })

  test.each([
    ["README.md", releasesOffered],
    ["docs/installing.md", releasesTold],
  ])("%s offers what is published, and nothing else", (path, told) => {
    expect(blockOf(read(path), "releases")).toBe(told(releases))
    expect(told("")).toContain("No release is published yet")
    expect(told("https://example.com/r")).toContain("https://example.com/r")
    expect(told("https://example.com/r")).not.toContain("published yet")
  })

  test.each(INSTALLERS)("%s looks for releases where package.json says", (path) => {
    expect(withReleases(read(path), releases)).toBe(read(path))
    expect(withReleases(read(path), "https://example.com/r")).toMatch(
      /^\$?RELEASES ?= ?'https:\/\/example\.com\/r'$/m,
    )
  })

  test("the option table has each option and each of its environment names once", () => {
    const rows = optionsTable().split("\n").slice(2)
    expect(rows.map((row) => row.split("`")[1])).toEqual(Object.keys(OPTIONS))
    const names = Object.values(OPTIONS).flatMap(({ env }) => env as readonly string[])
    for (const name of names) expect(rows.filter((row) => row.includes(`\`${name}\``))).toHaveLength(1)
  })

  test("a block is replaced, and nothing else", () => {
    const page = "a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb <!-- x:end -->\n"
    expect(withBlock(page, "x", "new")).toBe("a\n<!-- x:begin -->\nnew\n<!-- x:end -->\nb <!-- x:end -->\n")
    expect(blockOf(withBlock(page, "x", "new"), "x")).toBe("new")
    expect(withBlock(page, "y", "new")).toBe(page)
    expect(blockOf(page, "y")).toBeUndefined()
    expect(blockOf("<!-- x:end --> <!-- x:begin -->", "x")).toBeUndefined()
  })
})

test("the exit codes of docs/commands.md and of the help are those of the program", async () => {
  const table = [...read("docs/commands.md").matchAll(/^\| (\d+) +\| \S/gm)].map(([, code]) => Number(code))
  expect(table).toEqual(Object.values(EXIT))
  const sentence = /Exit codes: (.*)\./.exec(await wholeOverview(createStyle(false)))?.[1] ?? ""
  // An interruption is the shell's to tell.
  const told = Object.values(EXIT).filter((code) => code !== EXIT.interrupted)
  expect([...sentence.matchAll(/\d+/g)].map(([code]) => Number(code))).toEqual(told)
  expect(Object.values(EXIT) as number[]).not.toContain(2)
})

test("each decision has a number of its own, as its heading says", () => {
  const files = [...new Bun.Glob("*.md").scanSync(join(ROOT, "docs/adr"))].sort()
  const numbers = files.map((file) => Number(file.slice(0, 4)))
  expect(numbers).toEqual([...new Set(numbers)])
  const headings = files.map((file) => /^# (\d+)\. /.exec(read(`docs/adr/${file}`))?.[1])
  expect(headings.map(Number)).toEqual(numbers)
})

test("docs/doctor.md names every check", () => {
  const rows = [...read("docs/doctor.md").matchAll(/^\| `([a-z-]+)`/gm)].map(([, check]) => check)
  for (const path of new Bun.Glob("src/cli/doctor/*.ts").scanSync(ROOT)) {
    for (const [, check] of read(path).matchAll(/\b(?:finding|waiting)\(\s*"([a-z-]+)"/g))
      expect(rows).toContain(check)
  }
})

test("what CONTRIBUTING.md says where to find is there", () => {
  const table = /## Where is it decided\?\n([\s\S]*?)\n## /.exec(read("CONTRIBUTING.md"))?.[1] ?? ""
  const paths = [...table.matchAll(/\| `([\w/.-]+)` *\|$/gm)].map(([, path]) => `src/${path}`)
  expect(paths.length).toBeGreaterThan(20)
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test("files of src/ that pages name are there", () => {
  const folders = readdirSync(join(ROOT, "src")).filter((name) => !name.includes("."))
  const named = new RegExp(`\`(?:src/)?((?:${folders.join("|")})/[\\w/-]+)(?:\\.ts)?/?\``, "g")
  const isThere = (path: string): boolean =>
    ["src", "."].some((top) => ["", ".ts"].some((end) => existsSync(join(ROOT, top, path + end))))
  const missing = PAGES.flatMap((page) => {
    const paths = [...read(page).matchAll(named)].map(([, path]) => path!)
    return paths.filter((path) => !isThere(path)).map((path) => `${page}: ${path}`)
  })
  expect(missing).toEqual([])
})

test("AGENTS.md stays short", () => {
  expect(read("AGENTS.md").trimEnd().split("\n").length).toBeLessThanOrEqual(80)
})

test("the folders of src/ are those that AGENTS.md, docs/architecture.md and its picture name", () => {
  const folders = [...new Bun.Glob("*/").scanSync({ cwd: join(ROOT, "src"), onlyFiles: false })]
    .filter((name) => statSync(join(ROOT, "src", name)).isDirectory())
    .map((name) => name.replace(/\/$/, ""))
  const layers = /## Layers\n+```text\n([\s\S]*?)```/.exec(read("docs/architecture.md"))?.[1] ?? ""
  const picture = read("docs/images/house.svg")
  for (const folder of folders) {
    expect(read("AGENTS.md")).toContain(`src/${folder}/`)
    expect(layers.split(/\s+/)).toContain(folder)
    expect(picture).toContain(`>${folder}/<`)
  }
})

/** The name that a heading gets as a link's target. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-")

function headings(page: string): string[] {
  const prose = page.replace(/^```[\s\S]*?^```/gm, "")
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchor(heading!))
}

describe("links", () => {
  test.each(PAGES)("%s", (path) => {
    const page = read(path)
    const prose = page.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "")
    for (const [link, target] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) {
        expect(link).toMatch(/\]\(https:\/\//)
        continue
      }
      const [file = "", fragment] = target!.split("#")
      const place = file === "" ? path : join(dirname(path), file)
      expect({ link, exists: existsSync(join(ROOT, place)) }).toEqual({ link, exists: true })
      if (fragment !== undefined) expect(headings(read(place))).toContain(fragment)
    }
  })

  test("pages of docs/ are found from README.md or one of its pages", () => {
    const linked = new Set(["README.md"])
    for (const path of linked) {
      for (const [, target] of read(path).matchAll(/\]\(([^)\s#:]+\.md)/g))
        linked.add(join(dirname(path), target!))
    }
    const pages = PAGES.filter((path) => /^docs\/(?!adr\/)/.test(path))
    expect(pages.filter((path) => !linked.has(path))).toEqual([])
  })

  test("pages that the code names exist", () => {
    for (const path of new Bun.Glob("src/**/*.ts").scanSync(ROOT)) {
      for (const [name] of read(path).matchAll(/docs\/(?:adr\/\d{4}|[\w/-]+\.md)/g)) {
        const found = existsSync(join(ROOT, name)) || PAGES.some((page) => page.startsWith(`${name}-`))
        expect({ path, name, found }).toEqual({ path, name, found: true })
      }
    }
  })
})
