/** Text that anyone may have written, at a terminal: it steers nothing, opens nothing, and nothing hangs. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { binary, run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { runAtTerminal } from "../support/terminal.ts"
import { noTmux, TmuxScreen } from "../support/tmux-screen.ts"

setDefaultTimeout(limit(120_000))

/** A title, a link, a clipboard, a cleared screen, colours, C1, direction marks, a carriage return, a bell. */
const EVIL =
  "\u001b]0;owned\u0007\u001b]8;;http://evil.test\u001b\\\u001b]52;c;b3duZWQ=\u0007\u001b[2J\u001b[41m\u009b2J\u009d0;owned\u009c\u202e\u2066\r\u0007"
/** The same in ways that Markdown decodes, and links that lead to no page. */
const MARKDOWN =
  "# a&#27;[2J b&#x1b;]0;owned&#7; c&#155;2J d&#x202e;e\n\n[run](javascript:alert(1)) [ssh](ssh://-oProxyCommand=x) ![x](file:///etc/passwd)\n\n<a href='vnc://x'>y</a> https://fine.test/a?b=c\n"
const evil = (word: string): string => `${word}${EVIL}${word}`

/** What is our own: colours, and links to files here and to pages. */
const OWN = /\x1b\[[\d;]*m|\x1b\]8;;(?:(?:file|https?):\/\/[\x21-\x7e]*)?\x1b\\/g
const STEERING = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/

const linksIn = (text: string): string[] => [...text.matchAll(/\x1b\]8;;([^\x1b]*)/g)].map(([, url]) => url!)

let machine: Machine
let handle: string
let long: string
let session: string

beforeAll(async () => {
  machine = new Machine()
  const transcript = machine.session()
  transcript.line({ type: "ai-title", aiTitle: evil("Title"), sessionId: transcript.session })
  transcript.turn(
    evil("walrus parser"),
    [
      {
        tool: "Edit",
        input: { file_path: `${machine.cwd}/${evil("x")}.ts`, old_string: evil("a"), new_string: evil("b") },
        output: evil("ok"),
      },
      { tool: "Bash", input: { command: evil("cat big") }, output: "x".repeat(1_000_000) },
      { tool: "Bash", input: { command: "seq" }, output: `${evil("line")}\n`.repeat(5_000), isError: true },
    ],
    `${MARKDOWN}\n${evil("end")}\n\n${"| a ".repeat(400)}|\n${"|-".repeat(400)}|\n`,
  )
  transcript.turn("a long line", [], `${"y".repeat(300_000)} ${MARKDOWN}`)
  const imported = await run(["import", transcript.flush().path], { env: machine.env, cwd: machine.cwd })
  expect(imported).toMatchObject({ code: 0, stderr: "" })
  session = transcript.session
  using views = machine.views()
  const turns = views.query<{ handle: string }, []>("SELECT handle FROM turns ORDER BY seq").all()
  handle = turns[0]!.handle
  long = turns[1]!.handle
})

afterAll(() => machine[Symbol.dispose]())

const COMMANDS: readonly (() => string[])[] = [
  () => ["show", handle],
  () => ["show", handle, "--full"],
  () => ["show", handle, "--plain"],
  () => ["show", long],
  () => ["show", session],
  () => ["search", "walrus"],
  () => ["search", "walrus", "--all-projects", "--cold"],
  () => ["search", "walrus", "--format", "{title} {snippet}"],
  () => ["sessions"],
  () => ["sessions", "--format", "tsv"],
  () => ["show", handle, "--around", "3"],
  () => ["files", "walrus"],
  () => ["status"],
]

test.each(COMMANDS)("%#: a terminal gets nothing but text, colours and links of ours", async (words) => {
  const { code, text } = await runAtTerminal(machine, words(), { env: {} })
  expect({ words: words(), code }).toMatchObject({ code: 0 })
  const rest = text.replace(OWN, "").replaceAll("\r\n", "\n")
  expect(rest.trim().length).toBeGreaterThan(0)
  expect(STEERING.exec(rest)?.[0]).toBeUndefined()
  for (const link of linksIn(text)) expect(link).toMatch(/^(?:file:|https:\/\/fine\.test|$)/)
})

describe("links", () => {
  const links = async (env: Record<string, string>): Promise<string[]> =>
    linksIn((await runAtTerminal(machine, ["show", handle], { env })).text)

  test("lead to files, with everything encoded, and to pages", async () => {
    const found = await links({})
    expect(found[0]).toMatch(/^file:\/\/[\w.-]+\/[\w./%-]+x%1B%5D0%3Bowned%07/)
    expect(found).toContain("https://fine.test/a?b=c")
  })

  test("are left out where they are not wanted or not understood; without colour they stay", async () => {
    expect(await links({ CTXBRIDGE_LINKS: "never" })).toEqual([])
    expect(await links({ TERM: "dumb" })).toEqual([])
    expect((await links({ NO_COLOR: "1" })).length).toBeGreaterThan(0)
  })
})

describe.skipIf(noTmux !== undefined)(`in a pager${noTmux === undefined ? "" : ` (${noTmux})`}`, () => {
  test("nothing of it reaches the terminal, and it can be left", async () => {
    using screen = new TmuxScreen(machine, { cols: 80, rows: 24 }, { LC_ALL: "C.UTF-8" })
    const title = screen.title
    for (const words of [
      ["show", handle, "--full"],
      ["show", handle],
    ]) {
      screen.type(`clear; ${binary()} ${words.join(" ")}; echo code $?`)
      await screen.until((text) => text.endsWith("\n:"))
      screen.press("G")
      await screen.until((text) => text.includes("(END)"))
      // The colour of the background that the text asks for.
      expect(screen.colored().includes("[41")).toBe(false)
      screen.press("q")
      await screen.until((text) => text.split("\n").includes("code 0"))
    }
    expect(screen.title).toBe(title)
  })
})
