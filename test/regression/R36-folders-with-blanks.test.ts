/** A file in a folder with blanks in its name was given back twice: as itself, and as what stands behind the last blank. */
import { expect, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"

test("its path is told once and whole, and counted once", async () => {
  using machine = new Machine()
  const cwd = join(machine.root, "mein Projekt – été 项目")
  mkdirSync(cwd)
  const session = machine.session({ cwd })
  const input = { file_path: join(cwd, "src", "pärser.ts"), content: "see `src/lexer.ts`\n" }
  session.turn("Write the parser", [{ tool: "Write", input, output: "written" }]).flush()
  await machine.hook("stop", session)
  await machine.hook("pre-compact", session, { trigger: "manual" })
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given).toContain("src/pärser.ts")
  expect(given).toContain("src/lexer.ts")
  expect(given).not.toContain("项目/src/pärser.ts`")
  session.boundary("manual").summary("A parser was written.").flush()
  await machine.hook("stop", session)
  const { code, stdout, stderr } = await run(["receipts", "--json", "--project", cwd], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const [receipt] = JSON.parse(stdout).receipts
  expect(receipt.kinds.path).toEqual({ before: 2, kept: 0, given: 2, lost: 0 })
})
