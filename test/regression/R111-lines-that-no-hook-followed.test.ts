/**
 * What a session wrote after its last hook, as when the host was killed, was archived only once another session began in
 * the same folder. In a project to which nobody returned, the host's clean-up took it.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { contentOf, Machine, promptsIn } from "../support/machine.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(60_000)

test("the job looks after every known transcript once a day", async () => {
  using machine = new Machine()
  const elsewhere = new Transcript({
    session: "5e551011-0000-4000-8000-00000000e15e",
    cwd: join(machine.root, "elsewhere"),
    version: "2.1.112",
    path: join(
      machine.home,
      ".claude",
      "projects",
      "elsewhere",
      "5e551011-0000-4000-8000-00000000e15e.jsonl",
    ),
  })
  await machine.hook("stop", elsewhere.turn("A hook tells of this").flush())
  await machine.idle()
  elsewhere.turn("No hook tells of this").flush()
  const here = machine.session().turn("In another project").flush()
  await machine.hook("session-start", here, { source: "startup" })
  await machine.idle()
  expect(contentOf(machine.copy(elsewhere.path)).equals(readFileSync(elsewhere.path))).toBe(true)
  using db = machine.views()
  expect(promptsIn(db, elsewhere.session)).toEqual(["A hook tells of this", "No hook tells of this"])
})
