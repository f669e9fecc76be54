/** The compiled binary knows every format: its hooks load the tables, which are not in their chunk, when needed. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { FORMATS } from "../../src/secrets/formats/all-formats.ts"
import { Samples, SURROUNDINGS } from "../support/format-samples.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const machine = new Machine()
afterAll(() => machine[Symbol.dispose]())

test("a hook fills a token of each format, whole, and leaves the lines without one", async () => {
  const session = machine.session()
  const places = Object.values(SURROUNDINGS)
  const tokens = FORMATS.map(([, shape], n) =>
    new Samples(n).token(shape, n % 2 === 0 ? "least" : "greatest"),
  )
  session.user("nothing here")
  for (const [n, token] of tokens.entries())
    session.say(places[n % places.length]!.replaceAll("@", () => token))
  session.flush()
  const done = await machine.hook("stop", session)
  expect({ code: done.code, stdout: done.stdout, stderr: done.stderr }).toEqual({
    code: 0,
    stdout: "",
    stderr: "",
  })
  const before = readFileSync(session.path, "utf8")
  const wanted = tokens.reduce(
    (text, token) => text.replaceAll(token, () => "*".repeat(token.length)),
    before,
  )
  const archived = contentOf(machine.copy(session.path)).toString("latin1")
  const differing = archived.split("\n").flatMap((line, n) => {
    const expected = Buffer.from(wanted.split("\n")[n] ?? "").toString("latin1")
    return line === expected ? [] : [[line.slice(-200), expected.slice(-200)]]
  })
  expect(differing).toEqual([])
  expect(archived.length).toBe(Buffer.byteLength(before))
})
