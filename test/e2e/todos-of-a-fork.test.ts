/** A forked session had none of the tasks that were open where it began: they were given back in the first session only. */
import { expect, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"

const task = (subject: string, id: number) => ({
  tool: "TaskCreate",
  input: { subject, description: subject },
  output: `Task #${id} created successfully: ${subject}`,
})
const update = (id: number, status: string) => ({
  tool: "TaskUpdate",
  input: { taskId: String(id), status },
  output: `Updated task #${id} status`,
})

test("the tasks open at the fork are the fork's, and go on there", async () => {
  using machine = new Machine()
  const first = machine.session()
  first.turn("Plan it", [task("Sweep the kiln", 1), task("Mix the glaze", 2), update(1, "completed")]).flush()
  await machine.hook("stop", first)
  const fork = machine.session()
  mkdirSync(dirname(fork.path), { recursive: true })
  writeFileSync(fork.path, readFileSync(first.path))
  first.turn("Mix it", [update(2, "completed")])
  await machine.hook("stop", first.flush())
  fork.turn("Go on here", [task("Fire it", 3), update(2, "in_progress")])
  await machine.hook("stop", fork.flush())

  const told = async (): Promise<string[]> => {
    const { code, stdout, stderr } = await run(["preview", "--session", fork.session, "--json"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout).text.match(/^- \[\w+\] .*$/gm)
  }
  const open = ['- [in_progress] "Mix the glaze"', '- [pending] "Fire it"']
  expect(await told()).toEqual(open)
  const given = contextOf(await machine.hook("session-start", first, { source: "compact" })) ?? ""
  expect(given).not.toContain("## Open todos")

  // Read once more from its beginning, since Claude Code has rewritten it.
  writeFileSync(fork.path, `${readFileSync(fork.path, "utf8").replace("Go on here", "Go on there")}`)
  await machine.hook("stop", fork)
  expect(await told()).toEqual(open)
  expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
  expect(await told()).toEqual(open)
})
