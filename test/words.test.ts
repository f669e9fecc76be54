/** Words that people who use ctxbridge should not meet, in what it prints and in the pages for them. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const ROOT = join(import.meta.dir, "..")
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8")

/** What to write instead, and what is found. */
const HOUSE_WORDS: readonly (readonly [instead: string, found: RegExp])[] = [
  ["restored, sent, returned", /\b(?:g[ai]ves?|given|got|gets) (?:\w+ ){0,2}back\b/i],
  ["undone, reverted, rewound", /\b(?:takes?|taken|took) (?:it |them |that )?back\b/i],
  ["failed approaches, without success", /\bin vain\b/i],
  ["Claude Code", /\bthe host\b(?!(?:'s)? name| cannot be reached)/i],
  ["valid, intact, all good", /\b(?:un)?sound\b(?!"? controls)/],
  ["cannot be used together", /\bexclude each other\b/i],
  ["resumes, continues", /\bgoes? on with (?:a|the) session\b/i],
  ["36%", /\d %(?![-\w])/],
]

/** Found in `text`, as `what: "where it is found"`. */
function houseWords(text: string): string[] {
  return HOUSE_WORDS.flatMap(([instead, found]) => {
    const match = found.exec(text)
    return match === null
      ? []
      : [`write ${instead}: ${JSON.stringify(text.slice(match.index, match.index + 40))}`]
  })
}

/** Folders of src/ that speak to people or to Claude. */
const SPEAKING = ["agents", "base", "claude", "cli", "config", "find", "hook", "prune", "restore", "sync"]
const STRING = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g

test.each(SPEAKING)("src/%s prints none", (folder) => {
  const found = [...new Bun.Glob(`src/${folder}/**/*.ts`).scanSync(ROOT)].sort().flatMap((path) => {
    const code = read(path).replaceAll(/^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*)$/gm, "")
    return [...code.matchAll(STRING)].flatMap(([text]) => houseWords(text)).map((word) => `${path}: ${word}`)
  })
  expect(found).toEqual([])
})

/** Whole comments, those behind code, and those in SQL. */
const COMMENT = /^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*)|\s(?:\/\/|--) .*$/gm

/** Whether it is said of Claude Code, and not of a machine's name. */
const saysHost = (text: string): boolean =>
  /\bthe (?:(?:\*|\/\/) )?host\b(?!(?:'s)? name)/i.test(text.replaceAll(/\s+/g, " "))

const commentsOnHost = (code: string): string[] =>
  [...code.matchAll(COMMENT)].flatMap(([text]) => (saysHost(text) ? [text.trim()] : []))

test("comments and pages for developers say Claude Code", () => {
  const inCode = [...new Bun.Glob("src/**/*.ts").scanSync(ROOT)].flatMap((path) =>
    commentsOnHost(read(path)).map((text) => `${path}: ${text}`),
  )
  const pages = [...new Bun.Glob("{docs,bench}/**/*.md").scanSync(ROOT)]
  expect([...inCode, ...pages.filter((path) => saysHost(read(path)))].sort()).toEqual([])
})

/** Pages in the words of the code, for those who change it. */
const FOR_DEVELOPERS =
  /^docs\/(?:adr|architecture|measurements\/(?!overview))|^docs\/(?:architecture|files|releasing|scaling)\.md$/

test("pages for users have none", () => {
  const pages = ["README.md", "CHANGELOG.md", "SECURITY.md", "install.sh"]
  for (const path of new Bun.Glob("{docs,plugin}/**/*.md").scanSync(ROOT)) {
    if (!FOR_DEVELOPERS.test(path)) pages.push(path)
  }
  // Whole paragraphs, so that a phrase over two lines is found.
  const found = pages.sort().flatMap((path) =>
    read(path)
      .split("\n\n")
      .flatMap((text) => houseWords(text.replaceAll(/\s+/g, " ")).map((word) => `${path}: ${word}`)),
  )
  expect(found).toEqual([])
})

test("they are found", () => {
  for (const text of ["what was given back", "36 %", "it took it back", "The host forgets", "not sound"])
    expect(houseWords(text)).toHaveLength(1)
  expect(houseWords("36% of the host name, 5 %d, taken to the back")).toEqual([])
  const code =
    'const a = 1 // of the host\n/**\n * What the\n * host says.\n */\nconst b = "the host"\n// the host name\n'
  expect(commentsOnHost(code)).toEqual(["// of the host", "/**\n * What the\n * host says.\n */"])
})
