/**
 * The filter for secrets took minutes for a megabyte of marks of private keys, of `key:key:…`, of mentioned tags or of
 * `eyJeyJ…`, since it read on from each: hooks were stopped by the host before they had archived anything, again and again. Now it is a second or two; by
 * the old way these would run into the time limit of the test.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { contentOf, Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

const SIZE = 2 << 20
const mark = (which: string): string => `-----${which} RSA PRIVATE ${"KEY"}-----`

test.each([
  ["marks of beginnings", `${mark("BEGIN")}\n`],
  ["marks of ends", `${mark("END")}\n`],
  ["operators", "key:"],
  ["operators, percent-encoded", "%41key:"],
  ["mentions of a tag", "`<private>` "],
  ["beginnings of tokens in one word", "eyJghp_"],
])("%s", async (_name, piece) => {
  using machine = new Machine()
  const session = machine.session()
  session.turn(piece.repeat(SIZE / piece.length)).flush()
  const imported = await run(["import"], { env: machine.env, cwd: machine.cwd })
  expect(imported).toMatchObject({ code: 0, stderr: "" })
  expect(await run(["verify"], { env: machine.env })).toMatchObject({ code: 0, stderr: "" })
})

test("many strings before a tag", async () => {
  using machine = new Machine()
  const content = [...Array.from({ length: SIZE / 4 }, () => "a"), "<private>b</private>"]
  const session = machine
    .session()
    .line({ type: "user", message: { role: "user", content } })
    .flush()
  const imported = await run(["import"], { env: machine.env, cwd: machine.cwd })
  expect(imported).toMatchObject({ code: 0, stderr: "" })
  expect(contentOf(machine.copy(session.path)).toString()).toContain('"<private>*</private>"')
})
