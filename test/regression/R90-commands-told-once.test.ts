/** A command that was cut under "Commands" came again under "Commands run". */
import { expect, test } from "bun:test"
import { contextOf, Machine } from "../support/machine.ts"

test("a long command is told once, where it was run last", async () => {
  using machine = new Machine()
  const long = `kiln fire --shelves ${"oak,ash,elm,".repeat(8)}yew --door closed --until 1200 --slowly`
  const bash = (command: string) => ({ tool: "Bash", input: { command }, output: "" })
  const session = machine.session()
  session.turn("Fire it", [
    bash("kiln cool --slowly --until 20"),
    // As long a beginning of another says nothing of its end.
    bash(long.replace(" --slowly", " --fast")),
    bash(long),
    bash(`${long} && echo "is it closed and are all the shelves in their places?"`),
  ])
  await machine.hook("stop", session.flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given).toContain("- last good: `kiln fire --shelves oak,ash,elm,")
  const [, run = ""] = given.split("## Commands run\n")
  expect(run).toContain("- `kiln cool --slowly --until 20`")
  expect(run.match(/kiln fire --shelves .*--fast/g)).toHaveLength(1)
  expect(run).not.toContain(long)
})
