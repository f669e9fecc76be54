/** `blame FILE:LINE` and `why FILE:LINE`: the edit a line comes from, and the reasons given for it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Inside, Peer, run } from "../../support/inside.ts"

interface Found {
  readonly lines: readonly { readonly line: number; readonly text: string }[]
  readonly edit: Record<string, unknown> | null
  readonly reasons?: Record<string, unknown>
}

let machine: Inside

const KILN = [
  "export function fire(kiln: Kiln): void {",
  "  const hottest = 1240",
  "  ramp(kiln, hottest, RATE)",
  "}",
  "",
  "// by hand: nobody archived this comment",
  "export const RATE = 95",
]
const edit = (path: string, before: string, after: string) => ({
  tool: "Edit",
  input: { file_path: path, old_string: before, new_string: after },
  output: "updated",
})

beforeAll(async () => {
  machine = new Inside()
  const kiln = join(machine.cwd, "src/kiln.ts")
  mkdirSync(join(machine.cwd, "src"))
  const first = machine.session({ start: Date.UTC(2026, 2, 1) })
  first.turn("Never let the kiln get hotter than 1250 degrees.", [], "Understood.")
  first.user("Write a kiln").message()
  first.think("kiln.ts needs a rate that the old kiln survives.")
  first.say("I will write kiln.ts with a slow ramp.")
  first.step({
    tool: "Write",
    input: {
      file_path: kiln,
      content: "export function fire(kiln: Kiln): void {\n  const hottest = 1200\n  ramp(kiln, hottest)\n}\n",
    },
    output: "written",
  })
  first.say("I chose a slow ramp rather than a jump, because the old kiln cracks.")
  first.turn(
    "Hotter, please",
    [edit(kiln, "  const hottest = 1200\n", "  const hottest = 1240\n")],
    `窯の温度${"高".repeat(156)} hottest`,
  )
  const second = machine.session({ start: Date.UTC(2026, 2, 5) })
  second.turn("Give the ramp a rate", [
    edit(kiln, "hottest)", "hottest, RATE)"),
    edit(kiln, "}\n", "}\n\nexport const RATE = 90\n"),
    // Refused, so it changed nothing.
    {
      ...edit(kiln, "const hottest = 1240", "const hottest = 1240 // hot"),
      output: "refused",
      isError: true,
    },
  ])
  // The whole file is written again: what was there before does not come from here.
  second.turn("Tidy up", [
    {
      tool: "Write",
      input: { file_path: kiln, content: `${KILN.slice(0, 5).join("\n")}\nexport const RATE = 95\n` },
      output: "written",
    },
  ])
  for (const session of [first, second]) {
    expect(await run(["import", session.flush().path], machine)).toMatchObject({ code: 0, stderr: "" })
  }
  // As an editor on Windows would save it, and with another indent.
  writeFileSync(kiln, `${KILN.join("\r\n").replace("  ramp", "\tramp")}\r\n`)
})

afterAll(() => machine[Symbol.dispose]())

async function found(...args: readonly string[]): Promise<Found[]> {
  const { code, stdout, stderr } = await run([...args, "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout).found
}

describe("blame FILE:LINE", () => {
  test("the edit that introduced the line, though the file was written anew since", async () => {
    const [one] = await found("blame", "src/kiln.ts:2")
    expect(one?.lines).toEqual([{ line: 2, text: "  const hottest = 1240" }])
    expect(one?.edit).toMatchObject({ prompt: "Hotter, please", tool: "Edit", isPiece: false })
    expect(one?.edit?.["diff"]).toEqual([
      { mark: "-", text: "  const hottest = 1200" },
      { mark: "+", text: "  const hottest = 1240" },
    ])
  })

  test("a line of which an edit replaced a piece", async () => {
    const [one] = await found("blame", "src/kiln.ts:3")
    expect(one?.edit).toMatchObject({ prompt: "Give the ramp a rate", tool: "Edit", isPiece: true })
    expect(one?.edit?.["diff"]).toEqual([
      { mark: "-", text: "hottest)" },
      { mark: "+", text: "hottest, RATE)" },
    ])
  })

  test("several lines: one answer for each edit, without lines that stand everywhere", async () => {
    const all = await found("blame", "src/kiln.ts:1-7")
    expect(all.map(({ lines, edit: by }) => [lines.map(({ line }) => line), by?.["prompt"] ?? null])).toEqual(
      [
        [[1], "Write a kiln"],
        [[2], "Hotter, please"],
        [[3], "Give the ramp a rate"],
        [[6], null],
        [[7], "Tidy up"],
      ],
    )
  })

  test("all lines of a large file that was often written take as long as its edits, not as edits times lines", async () => {
    using other = new Inside()
    const path = join(other.cwd, "glaze.ts")
    const lines = Array.from({ length: 3000 }, (_, n) => `export const glaze${n} = mix(${n}, "cobalt ${n}")`)
    const session = other.session()
    for (let n = 1; n <= 40; n++) {
      const content = lines.slice(0, 75 * n).join("\n")
      session.turn(`Glaze ${n}`, [{ tool: "Write", input: { file_path: path, content }, output: "written" }])
    }
    await run(["import", session.flush().path], other)
    writeFileSync(path, lines.join("\n"))
    const begin = performance.now()
    const { stdout } = await run(["blame", "glaze.ts:1-3000", "--json"], other)
    // Searching every text for every line takes longer.
    expect(performance.now() - begin).toBeLessThan(8000)
    const all: Found[] = JSON.parse(stdout).found
    expect(all).toHaveLength(40)
    expect(all[39]).toMatchObject({ edit: { prompt: "Glaze 40" } })
    expect(all[39]!.lines[0]!.line).toBe(2926)
  })

  test("a line that no archived edit has: exit status 3, and who touched the file", async () => {
    const ran = await run(["blame", "src/kiln.ts:6"], machine)
    expect(ran).toMatchObject({ code: 3, stderr: "" })
    expect(ran.stdout).toContain("No archived edit has this")
    expect(ran.stdout).toContain("Turns that touched the file:")
    expect(ran.stdout).toContain("Tidy up")
    const json = await run(["blame", "src/kiln.ts:6", "--json"], machine)
    expect(json).toMatchObject({ code: 3, stderr: "" })
    expect(JSON.parse(json.stdout)).toMatchObject({
      found: [{ edit: null }],
      touched: [{ prompt: "Tidy up" }, {}, {}, {}],
    })
  })

  test.each([
    ["src/kiln.ts:4", 64, "stands in many places", "hint: try src/kiln.ts:3 or src/kiln.ts:6"],
    ["src/kiln.ts:99", 64, "src/kiln.ts has no line 99", "hint: it has 7 lines"],
    ["src/kiln.ts:3-1", 64, "has no line 3-1", "hint: it has 7 lines"],
    ["src/gone.ts:1", 3, "there is no file src/gone.ts", "hint: ctxbridge blame src/gone.ts lists"],
    ["src:1", 64, "src is not a file of at most 32 MB", ""],
  ])("%s: exit status %d", async (line, code, message, hint) => {
    const ran = await run(["blame", line], machine)
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: "" })
    expect(ran.stderr).toContain(message)
    expect(ran.stderr).toContain(hint)
  })

  test("a file that is called so", async () => {
    writeFileSync(join(machine.cwd, "odd:7"), "")
    const ran = await run(["blame", "odd:7"], machine)
    expect(ran).toMatchObject({ code: 3, stdout: "" })
    expect(ran.stderr).toContain('matches "odd:7"')
  })
})

describe("why FILE:LINE", () => {
  test("what was decided in the turn, what earlier turns say of the file, and what was said and thought", async () => {
    const [one] = await found("why", "src/kiln.ts:1")
    expect(one?.edit).toMatchObject({ prompt: "Write a kiln" })
    expect(one?.reasons).toMatchObject({
      saidBefore: "I will write kiln.ts with a slow ramp.",
      saidAfter: "I chose a slow ramp rather than a jump, because the old kiln cracks.",
      thought: "kiln.ts needs a rate that the old kiln survives.",
    })
    const notes = one?.reasons?.["notes"] as { kind: string; text: string }[]
    expect(notes.map(({ kind, text }) => [kind, text])).toEqual([
      ["decision", "I chose a slow ramp rather than a jump, because the old kiln cracks."],
      ["constraint", "Never let the kiln get hotter than 1250 degrees."],
    ])
  })

  test("for people", async () => {
    const ran = await run(["why", "src/kiln.ts:1"], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout.replace(/ctx:\w+/g, "ctx:…")).toBe(`src/kiln.ts:1
  export function fire(kiln: Kiln): void {
ctx:…  1 Mar 00:00 · Write
  Write a kiln
  + export function fire(kiln: Kiln): void {
  +   const hottest = 1200
  +   ramp(kiln, hottest)
  + }
  decided
    I chose a slow ramp rather than a jump, because the old kiln cracks.
  constraint in ctx:…
    Never let the kiln get hotter than 1250 degrees.
  thought
    kiln.ts needs a rate that the old kiln survives.
  said before
    I will write kiln.ts with a slow ramp.
  said after
    I chose a slow ramp rather than a jump, because the old kiln cracks.
`)
  })

  test("words without blanks are folded, too", async () => {
    const { stdout } = await run(["why", "src/kiln.ts:2"], machine)
    expect(stdout.match(/^ {4}[窯高].*$/gm)).toHaveLength(5)
    for (const line of stdout.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80)
  })

  test("nothing says why: it says so", async () => {
    const ran = await run(["why", "src/kiln.ts:7"], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toContain("Nothing archived says why.")
  })

  test("a file without a line", async () => {
    const ran = await run(["why", "src/kiln.ts"], machine)
    expect(ran).toMatchObject({ code: 64, stdout: "" })
    expect(ran.stderr).toContain("hint: such as ctxbridge why src/kiln.ts:12")
  })

  test("Claude can ask, too", async () => {
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const { text, isError } = await peer.call("look_up", { kind: "why", about: "src/kiln.ts:2" })
    expect(isError).toBe(false)
    expect(text).toContain('asked: "Hotter, please"')
    expect(await peer.call("look_up", { kind: "why", about: "src/kiln.ts" })).toMatchObject({ isError: true })
  })
})
