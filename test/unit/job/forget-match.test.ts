/** Forgetting a text. */
import { describe, expect, test } from "bun:test"
import { appendFileSync, rmSync, utimesSync } from "node:fs"
import { findText } from "../../../src/job/forget-text.ts"
import { textFinder } from "../../../src/record/find-text.ts"
import { vaultFile } from "../../../src/vault/layout.ts"
import type { Source } from "../../../src/views/view-sources.ts"
import { Archive } from "../../support/archive.ts"
import { Inside, run } from "../../support/inside.ts"
import { contentOf } from "../../support/machine.ts"
import { filesWith } from "../../support/traces.ts"

/**
 * The end of a session whose last line was cut off is archived as it is; when the host completes that line, it stands in two
 * frames. A text is to be taken out of each of them.
 */
describe("a line that stands in two frames", () => {
  const WORD = "xylophone-4711"

  test.each([
    ["before the cut", 0.9],
    ["behind it", 0.1],
    ["across it", 0.5],
  ])("a text that stands %s is forgotten, and stays away", async (_name, share) => {
    using machine = new Inside()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const session = machine.session().turn("hello").flush()
    const prompt = `${"words before it, ".repeat(20)}${WORD}${", words behind it".repeat(20)}`
    const line = `${JSON.stringify({
      type: "user",
      sessionId: session.session,
      uuid: "aaaaaaaa-0000-4000-8000-000000000001",
      cwd: machine.cwd,
      message: { role: "user", content: prompt },
    })}\n`
    const at = line.indexOf(WORD)
    const cut = share === 0.5 ? at + 5 : share > 0.5 ? at + WORD.length + 50 : at - 50
    appendFileSync(session.path, line.slice(0, cut))
    const before = new Date(Date.now() - 30 * 86_400_000)
    utimesSync(session.path, before, before)
    expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
    expect(contentOf(machine.copy(session.path)).toString()).toEndWith(line.slice(0, cut))
    appendFileSync(session.path, line.slice(cut))
    expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
    expect(contentOf(machine.copy(session.path)).toString()).toEndWith(line)

    expect(await cli("forget", "--match", WORD, "--yes")).toMatchObject({ code: 0, stderr: "" })
    const filled = line.replace(WORD, "*".repeat(WORD.length))
    expect(contentOf(machine.copy(session.path)).toString()).toEndWith(filled)
    expect(filesWith(machine.dataHome, WORD)).toEqual([])
    expect(await cli("import", "--check")).toMatchObject({ code: 0, stderr: "" })
    expect(filesWith(machine.dataHome, WORD)).toEqual([])
    expect(await cli("verify")).toMatchObject({ code: 0, stderr: "" })
  })
})

const WORD = "Quillfeather"

/** `forget --match` did not say that the host's own transcripts still hold the text, as `forget SESSION` does. */
test("what Claude Code keeps is told, in words that fit the number", async () => {
  using machine = new Inside()
  const there = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const [first, second] = [machine.session(), machine.session()]
  first.turn(`${WORD} is the word`).flush()
  second.turn(`${WORD}, too`).flush()
  expect((await there("import")).code).toBe(0)
  const told = async (...args: string[]): Promise<string | undefined> => {
    const { code, stdout, stderr } = await there("forget", ...args, "--dry-run")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout.split("\n").find((line) => line.startsWith("Claude Code itself"))
  }
  expect(await told("--match", WORD)).toBe("Claude Code itself still has 2 of these transcripts, unchanged")
  expect(await told(first.session)).toBe(
    "Claude Code itself still has 1 transcript of it; it will not be archived again",
  )
  expect(await told(machine.cwd)).toBe(
    "Claude Code itself still has 2 transcripts of them; they will not be archived again",
  )
  rmSync(first.path)
  expect(await told("--match", WORD)).toBe("Claude Code itself still has 1 of these transcripts, unchanged")
  rmSync(second.path)
  expect(await told("--match", WORD)).toBeUndefined()
})

test("a copy that another forget removes meanwhile is no failure", () => {
  using archive = new Archive()
  const { dataHome } = archive
  for (const session of ["one", "two"])
    archive.take(archive.session(session).turn("The kiln is hot.").flush())
  let removed = 0
  const finderFor = ({ copy }: Source) => {
    if (removed++ === 0) rmSync(vaultFile(dataHome, copy))
    return textFinder("kiln")
  }
  expect(findText(dataHome, finderFor, { now: 1 })).toMatchObject({
    copies: [{ session: "two" }],
    failed: [],
  })
  expect(removed).toBe(2)
})
