/** What is longer than the screen goes through the user's pager, in a real terminal. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { binary } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { noTmux, TmuxScreen } from "../support/tmux-screen.ts"

setDefaultTimeout(limit(120_000))

const TURNS = 60
const SIZE = { cols: 80, rows: 15 }
const UTF8 = { LC_ALL: "C.UTF-8" }
const noLess = Bun.which("less") === null ? "less is not installed" : undefined
const missing = noTmux ?? noLess

let machine: Machine
let show: string

beforeAll(async () => {
  machine = new Machine()
  const session = machine.session()
  for (let n = 1; n <= TURNS; n++) session.turn(`Question number ${n}`, [], "Answer.")
  await machine.hook("stop", session.flush())
  show = `${binary()} show ${session.session}`
})

afterAll(() => machine[Symbol.dispose]())

const ended = (text: string): boolean => text.split("\n").includes("code 0")

describe.skipIf(missing !== undefined)(`less${missing === undefined ? "" : ` (${missing})`}`, () => {
  test("shows the beginning; neither Ctrl-C nor q before the end is an error", async () => {
    using screen = new TmuxScreen(machine, SIZE, UTF8)
    screen.type(`${show}; echo code $?`)
    const first = await screen.until((text) => text.endsWith("\n:"))
    expect(first).toContain("session 5e551011")
    expect(first).not.toContain("Question number 60")
    screen.press("C-c")
    // What is typed while less is being interrupted gets lost.
    await screen.until((text) => {
      screen.press("G")
      return text.includes("Question number 60")
    })
    screen.press("q")
    expect(await screen.until(ended)).toContain("Question number 60")
  })

  test("is not asked for what fits, with --no-pager, or where the answer goes into a pipe", async () => {
    using screen = new TmuxScreen(machine, SIZE, { ...UTF8, PAGER: "echo PAGED" })
    screen.type(`${binary()} sessions; ${show} --no-pager; ${show} | cat; ${show} --json; echo code $?`)
    expect(await screen.until(ended)).not.toContain("PAGED")
    screen.type(`clear; ${show}; echo code $?`)
    expect(await screen.until((text) => text.includes("PAGED"))).not.toContain("Question")
  })
})

describe.skipIf(noTmux !== undefined)(`other pagers${noTmux === undefined ? "" : ` (${noTmux})`}`, () => {
  test("CTXBRIDGE_PAGER comes before PAGER, a shell reads it, and it may stop reading", async () => {
    const env = { ...UTF8, NO_COLOR: "1", PAGER: "echo WRONG", CTXBRIDGE_PAGER: "head -n 1 | tr a-z A-Z" }
    using screen = new TmuxScreen(machine, SIZE, env)
    screen.type(`clear; ${show}; echo code $?`)
    expect(await screen.until(ended)).toStartWith("SESSION 5E551011")
  })

  test.each(["cat", "", "no-such-pager"])("with %p everything is printed at once", async (pager) => {
    using screen = new TmuxScreen(machine, SIZE, { ...UTF8, CTXBRIDGE_PAGER: pager })
    screen.type(`clear; ${show}; echo code $?`)
    expect(await screen.until(ended)).toContain("Question number 60")
  })
})
