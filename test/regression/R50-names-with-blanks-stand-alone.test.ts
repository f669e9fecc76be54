/**
 * Paths are told many on a line, as the words of a shell are. Behind one with blanks the next ones were put on the same line,
 * so that nobody could tell where it ends: `src/my notes.md lib/lexer.ts`.
 */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { pack } from "../../src/restore/pack.ts"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"

test("a path with blanks has a line of its own", async () => {
  using machine = new Machine()
  const session = machine.session()
  const names = ["lib/lexer.ts", "src/my notes.md", "src/parser.ts", "docs/ein Plan.md", "lib/token.ts"]
  // The host itself shows the last ones again.
  const latest = [1, 2, 3, 4, 5].map((n) => `shown${n}.ts`)
  const steps = [...names, ...latest].map((name) => ({
    tool: "Read",
    input: { file_path: `${machine.cwd}/${name}` },
    output: "1→text",
  }))
  session.turn("Look at all of it", steps).flush()
  await machine.hook("stop", session)
  await machine.hook("pre-compact", session, { trigger: "manual" })
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  for (const name of names.filter((one) => one.includes(" "))) expect(given).toContain(`- \`${name}\`\n`)
  for (const name of names) expect(given).toContain(name)
  expect(await run(["verify"], { env: machine.env })).toMatchObject({ code: 0, stderr: "" })
})

test("each line is one name with blanks, or names without; none is lost where there is room", () => {
  const name = fc.oneof(
    fc.stringMatching(/^[a-z/]{1,30}$/),
    fc.stringMatching(/^[A-Z]{1,12}( [A-Z]{1,12}){1,3}$/),
  )
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 30 }), (names) => {
      const found = [...pack(names, 100_000)].flatMap((line) => {
        const [, folder = "", words = ""] = /^- (?:in `(.*)`: )?`(.*)`$/.exec(line)!
        const told = /[A-Z]/.test(words) ? [words] : words.split(" ")
        return told.map((word) => folder + word)
      })
      expect(found.toSorted()).toEqual(names.toSorted())
    }),
    { numRuns: 200 },
  )
})

test("and never takes more room than there is", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 40 })), fc.nat(1000), (names, room) => {
      const lines = [
        ...pack(
          names.map((one) => one.replaceAll(/[`\p{C}<>&]/gu, "x")),
          room,
        ),
      ]
      expect(lines.reduce((sum, line) => sum + line.length + 1, 0)).toBeLessThanOrEqual(room)
    }),
    { numRuns: 200 },
  )
})
