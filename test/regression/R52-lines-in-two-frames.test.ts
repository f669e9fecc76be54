/**
 * The end of a session whose last line was cut off is archived as it is; when the host completes that line, it stands in two
 * frames. A text is to be taken out of each of them.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { appendFileSync, utimesSync } from "node:fs"
import { run } from "../support/binary.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { filesWith } from "../support/traces.ts"

setDefaultTimeout(60_000)

const WORD = "xylophone-4711"

test.each([
  ["before the cut", 0.9],
  ["behind it", 0.1],
  ["across it", 0.5],
])("a text that stands %s is forgotten, and stays away", async (_name, share) => {
  using machine = new Machine()
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
