/**
 * Transcripts with text that is hard to search for secrets: hooks stay quick, the job gets through, and whatever comes
 * behind it is archived.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { binary } from "../support/binary.ts"
import { HARD } from "../support/hard.ts"
import { Inside, run } from "../support/inside.ts"
import { contentOf, type Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const SIZE = 200_000
const PLAIN = "The build of the shop failed in src/app/index.ts because of a missing import. "
const SECRET = `ghp_${"9fK2mQ7xW4".repeat(4)}`
const filling = (piece: string): string => piece.repeat(Math.ceil(SIZE / piece.length))

/** CPU time of one hook in ms: on a busy machine, its own deadline is the only other measure. */
function hookTime(machine: Machine, session: Transcript): number {
  const ran = Bun.spawnSync([binary(), "hook", "stop"], {
    cwd: machine.cwd,
    env: machine.env,
    stdin: Buffer.from(machine.payload("stop", session)),
  })
  expect({ code: ran.exitCode, out: String(ran.stdout), error: String(ran.stderr) }).toEqual({
    code: 0,
    out: "",
    error: "",
  })
  return Number(ran.resourceUsage.cpuTime.total) / 1000
}

test.each(HARD)("%s", async (_name, piece) => {
  using machine = new Inside()
  const plain = machine.session().turn(filling(PLAIN)).flush()
  const usual = hookTime(machine, plain)
  await machine.idle()
  const session = machine.session().turn("short").flush()
  hookTime(machine, session)
  await machine.idle()
  session.turn(`${filling(piece)} ${SECRET} `).flush()
  for (const text of ["later", "at last"]) {
    expect(hookTime(machine, session)).toBeLessThan(usual + limit(1500))
    session.turn(text).flush()
  }
  await machine.idle()
  hookTime(machine, session)
  await machine.idle()
  const content = contentOf(machine.copy(session.path)).toString("latin1")
  expect(content).toHaveLength(readFileSync(session.path).length)
  // What an open tag hides cannot be read, but is there.
  expect(content.includes("at last") || piece === "<private>").toBe(true)
  expect(content.includes(SECRET)).toBe(false)
  expect(await run(["verify"], { env: machine.env })).toMatchObject({ code: 0, stderr: "" })
})
