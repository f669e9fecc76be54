/**
 * `ctxbridge receipts` on the compiled binary: what hooks gave, what Claude Code says of it, and rebuilt from the
 * vault.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type Ran, run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const past = (transcript: Transcript): Transcript =>
  transcript.turn("Add retries. Never touch the generated files.", [
    { tool: "Edit", input: { file_path: "/src/app/lib/client.ts" }, output: "ok" },
    {
      tool: "Bash",
      input: { command: "npm test -- retry" },
      output: "TypeError: retryLoop is not a function",
      isError: true,
    },
  ])

/** A compaction as Claude Code writes it; the text that our hook gave. */
async function compact(machine: Machine, session: Transcript, arrives: boolean): Promise<string> {
  const text = contextOf(await machine.hook("session-start", session, { source: "compact" }))!
  session.boundary("auto", 167_400).summary("Edited lib/client.ts.")
  const attachment = { type: "hook_additional_context", hookEvent: "SessionStart", content: [text] }
  if (arrives) session.line({ type: "attachment", attachment })
  session.turn("go on").flush()
  await machine.hook("stop", session)
  return text
}

const receipts = (machine: Machine, ...args: string[]): Promise<Ran> =>
  run(["receipts", ...args], { env: machine.env, cwd: machine.cwd })

async function json(machine: Machine, ...args: string[]) {
  const { code, stdout, stderr } = await receipts(machine, "--json", ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
}

test("tells what was given, whether it arrived, and what is lost, and the same after a rebuild", async () => {
  using machine = new Machine()
  const session = past(machine.session()).flush()
  const first = await compact(machine, session, true)
  const second = await compact(machine, session, false)
  const told = await json(machine, "--limit", "5")
  expect(told.receipts).toMatchObject([
    { session: session.session, trigger: "auto", characters: second.length, delivery: "lost" },
    { preTokens: 167_400, characters: first.length, delivery: "arrived" },
  ])
  const { kinds, tokens } = told.receipts[1]
  expect(tokens).toBe(Math.ceil(first.length / 3.5))
  expect(kinds).toMatchObject({
    constraint: { before: 1, kept: 0, given: 1, lost: 0 },
    path: { before: 1, kept: 1, given: 0, lost: 0 },
    command: { before: 1, kept: 0, given: 1, lost: 0 },
    error: { before: 1, kept: 0, given: 1, lost: 0 },
  })
  for (const kind of Object.keys(told.total)) {
    for (const column of ["before", "kept", "given", "lost"])
      expect(told.total[kind][column]).toBe(
        told.receipts[0].kinds[kind][column] + told.receipts[1].kinds[kind][column],
      )
    const { before, kept, given, lost } = told.total[kind]
    expect(kept + given + lost).toBe(before)
  }
  expect(await run(["rebuild"], { env: machine.env })).toMatchObject({ code: 0, stderr: "" })
  expect(await json(machine, "--limit", "5")).toEqual(told)
  expect(told.more).toBe(false)
  const latest = await json(machine)
  expect(latest).toMatchObject({ more: true, receipts: told.receipts.slice(0, 1) })
  expect(latest.receipts).toHaveLength(1)
  for (const [kind, { kept, given, lost }] of Object.entries<Record<string, string[]>>(
    told.receipts[1].items,
  )) {
    const counts = told.receipts[1].kinds[kind]
    expect([kept!.length, given!.length, lost!.length]).toEqual([counts.kept, counts.given, counts.lost])
  }
  expect(told.receipts[1].items).toMatchObject({
    path: { kept: ["/src/app/lib/client.ts"] },
    command: { given: ["npm test -- retry"] },
  })
  expect(await json(machine, "--session", session.session, "-n", "5")).toEqual(told)
  expect(await json(machine, "--all-projects", "-n", "5")).toEqual(told)
})

test("shows people a table per compaction and their sum, without escapes when colour is off", async () => {
  using machine = new Machine()
  const session = past(machine.session()).flush()
  const first = await compact(machine, session, true)
  await compact(machine, session, true)
  const { code, stdout, stderr } = await receipts(machine, "-n", "5")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const tokens = Math.ceil(first.length / 3.5)
  expect(stdout.replaceAll("\n", " ")).toContain(
    `auto at 167,400 tokens: restored ${first.length} characters (about ${tokens} tokens), arrived `,
  )
  expect(stdout).toMatch(/\n {2}constraints +1 +0 +1 +0\n/)
  expect(stdout).toContain("\nTogether, 2 compactions\n")
  expect(stdout).not.toContain("\u001b")
})

test("exits with 3 when there is nothing to show and 64 for a wrong argument, with a hint", async () => {
  using machine = new Machine()
  const session = past(machine.session()).flush()
  await machine.hook("stop", session)
  const none = await receipts(machine)
  expect(none).toMatchObject({ code: 3, stdout: "" })
  expect(none.stderr).toMatch(
    /^ctxbridge: no compaction of .*\nhint: ctxbridge receipts --all-projects .*\n$/,
  )
  expect(await receipts(machine, "--session", session.session)).toMatchObject({ code: 3, stdout: "" })
  const named = await receipts(machine, session.session)
  expect(named).toMatchObject({ code: 3, stdout: "" })
  expect(named.stderr).toStartWith(`ctxbridge: no compaction of ${session.session} is archived\n`)
  expect(await receipts(machine, "--limit", "0")).toMatchObject({ code: 64, stdout: "" })
  expect(await receipts(machine, "--session", "no-such")).toMatchObject({ code: 3, stdout: "" })
  expect(await receipts(machine, "--help")).toMatchObject({ code: 0, stderr: "" })
})

test("in an imported session nothing was given, but what the summary dropped is counted", async () => {
  using machine = new Machine()
  past(machine.session()).boundary("manual").summary("Edited lib/client.ts.").turn("go on").flush()
  expect(await run(["import", "-q"], { env: machine.env })).toMatchObject({ code: 0 })
  const [receipt] = (await json(machine)).receipts
  expect(receipt.items.command).toEqual({ kept: [], given: [], lost: ["npm test -- retry"] })
  const { stdout } = await receipts(machine)
  const lines = stdout.trimEnd().split("\n")
  expect(lines.length).toBeLessThanOrEqual(11)
  expect(lines[0]).toMatch(/^Compaction .*, manual at 155,000 tokens, session /)
  expect(lines[1]).toBe("Add retries. Never touch the generated files.")
  expect(lines[2]).toMatch(/^█+░+$/)
  const told = ["kept", "restored", "lost"].map((title) => lines.find((line) => line.startsWith(title)))
  expect(told[0]).toMatch(/^kept +\d+ +\d+% {2}in Claude Code's summary/)
  expect(told[1]).toMatch(/^restored +0 +0% {2}nothing could be: it was archived only later$/)
  expect(told[2]).toMatch(/^lost +\d+ +\d+% {2}in neither/)
  expect(lines).toContain("  commands     npm test -- retry")
  expect(lines).toContain("  errors       TypeError: retryLoop is not a function")
  expect(lines).toContain('  constraints  "Never touch the generated files."')
  const lost = await receipts(machine, "--lost")
  expect(lost).toMatchObject({ code: 0, stderr: "" })
  expect(lost.stdout).toContain("\ncommands\n  npm test -- retry\n")
  expect(receipt).toMatchObject({ trigger: "manual", characters: 0, tokens: 0, delivery: "not-archived" })
  expect(receipt.kinds.command).toEqual({ before: 1, kept: 0, given: 0, lost: 1 })
})

test("a compaction of a session that was archived by then, without a restore: nothing was given", async () => {
  using machine = new Machine()
  const session = past(machine.session({ start: Date.now() + 3_600_000 }))
  session.boundary("manual").summary("Edited lib/client.ts.").turn("go on").flush()
  expect(await run(["import", "-q"], { env: machine.env })).toMatchObject({ code: 0 })
  expect((await json(machine)).receipts).toMatchObject([{ characters: 0, delivery: "nothing-given" }])
  expect((await receipts(machine)).stdout).toMatch(/^restored +0 +0% {2}nothing was given$/m)
  const { stdout } = await run(["stats", "--json"], { env: machine.env })
  expect(JSON.parse(stdout).compactions).toMatchObject({ examined: 1, early: 0 })
})

test("draws the numbers as a picture without a word of the archive, and replaces no file unasked", async () => {
  using machine = new Machine()
  past(machine.session()).boundary("manual").summary("Edited lib/client.ts.").turn("go on").flush()
  expect(await run(["import", "-q"], { env: machine.env })).toMatchObject({ code: 0 })
  const [{ kinds, items }] = (await json(machine)).receipts
  const file = join(machine.cwd, "card.svg")
  const made = await receipts(machine, "--card", "-o", "card.svg")
  expect(made).toMatchObject({ code: 0, stderr: "" })
  expect(made.stdout).toMatch(/^[\d.]+ KB written to \S+card\.svg\n$/)
  expect(made.stdout).toEndWith(` ${file}\n`)
  const svg = readFileSync(file, "utf8")
  expect(await receipts(machine, "--card")).toMatchObject({ code: 0, stdout: svg, stderr: "" })
  const sum = (of: string): number =>
    Object.values<Record<string, number>>(kinds).reduce((all, counts) => all + counts[of]!, 0)
  for (const share of ["kept", "given", "lost"]) expect(svg).toContain(`>${sum(share)} (`)
  expect(svg).toContain(`Of ${sum("before")} things in the context`)
  for (const { kept, lost } of Object.values<Record<string, string[]>>(items))
    for (const item of [...kept!, ...lost!].filter((one) => one.length > 8)) expect(svg).not.toContain(item)
  // Well-formed: every element that is opened is closed.
  expect(svg.match(/<(?:rect|text|svg)[ >]/g)!.length).toBe(svg.match(/\/>|<\/(?:text|svg)>/g)!.length)
  for (const words of [
    ["-o", "card.svg"],
    ["--card", "--json"],
  ])
    expect(await receipts(machine, ...words)).toMatchObject({ code: 64 })
  // Both spellings mean the same, as in stats.
  const again = await receipts(machine, "--card", "card.svg")
  expect(again).toMatchObject({ code: expect.any(Number) })
  expect(again.code).not.toBe(0)
  expect(readFileSync(file, "utf8")).toBe(svg)
  for (const words of [["--card", "card.svg"], ["--card=card.svg"]])
    expect(await receipts(machine, ...words, "--force")).toMatchObject({ code: 0, stdout: made.stdout })
})
