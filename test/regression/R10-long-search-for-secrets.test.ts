/**
 * The filter for secrets took minutes for a megabyte of marks of private keys, or of `key:key:…`, since it read on from
 * each: hooks were stopped by the host before they had archived anything, again and again. Now it is a second or two; by
 * the old way these would run into the time limit of the test.
 */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

const SIZE = 2 << 20
const mark = (which: string): string => `-----${which} RSA PRIVATE ${"KEY"}-----`

test.each([
  ["marks of beginnings", `${mark("BEGIN")}\n`],
  ["marks of ends", `${mark("END")}\n`],
  ["operators", "key:"],
  ["operators, percent-encoded", "%41key:"],
])(
  "%s",
  async (_name, piece) => {
    using machine = new Machine()
    const session = machine.session()
    session.turn(piece.repeat(SIZE / piece.length)).flush()
    const imported = await run(["import"], { env: machine.env, cwd: machine.cwd })
    expect(imported).toMatchObject({ code: 0, stderr: "" })
    expect(await run(["verify"], { env: machine.env })).toMatchObject({ code: 0, stderr: "" })
  },
  60_000,
)
