/** The engine compiles some methods of arrays when each is first called: at each prompt, for 0.1 ms each. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

/** The engine prints each function that is about to run for the first time. */
const DUMP = { BUN_JSC_dumpGeneratedBytecodes: "1" }
/** Ours have shorter names in the binary. */
const METHODS = /^(?:find|reduce|some|filter|every|forEach|flatMap|findLast)#\w+:/gm

test("a prompt with new lines calls none of the methods that the engine has yet to compile", async () => {
  using machine = new Machine()
  const session = machine.session()
  await machine.hook("user-prompt-submit", session.turn("Begin.").flush(), { prompt: "Begin." })
  const content = [{ type: "text", text: "The kiln cools slowly." }]
  session.turn("Measure.").line({ type: "assistant", message: { role: "assistant", content } })
  const env = { ...machine.env, ...DUMP }
  const { stdout, stderr, code } = await machine.hook(
    "user-prompt-submit",
    session.flush(),
    { prompt: "Go on." },
    { env },
  )
  const printed = stdout + stderr
  expect(code).toBe(0)
  expect(printed).toMatch(/^isFile#\w+:/m)
  expect(printed.match(METHODS)).toBeNull()
  // What nothing is known of is looked at more closely.
  const other = machine.session()
  other.line({ type: "assistant", message: { role: "assistant", content } })
  const closer = await machine.hook("user-prompt-submit", other.flush(), { prompt: "Begin." }, { env })
  expect((closer.stdout + closer.stderr).match(METHODS)).toBeNull()
})
