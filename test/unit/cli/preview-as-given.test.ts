/** `ctxbridge preview` says what the hook then gives, to the character. */
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Ran } from "../../support/binary.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"

setDefaultTimeout(60_000)

const bash = (command: string, output: string) => ({ tool: "Bash", input: { command }, output })

async function archived(machine: Machine) {
  const session = machine.session()
  session
    .turn(
      "Add retries. Never touch the generated files.",
      [bash("npm run check -- retry", "Error: no answer from the server"), bash("git status --short", "")],
      "retryAfter is read in src/http/client.ts",
    )
    .flush()
  await machine.hook("stop", session, { stop_hook_active: false })
  return session
}

const preview = (machine: Machine, ...args: string[]): Promise<Ran> =>
  run(["preview", ...args], { env: machine.env, cwd: machine.cwd })

test.each(["compact", "startup"])("%s: the same text as the hook", async (source) => {
  using machine = new Inside()
  const session = await archived(machine)
  const shown = await preview(machine, "--source", source, "--json")
  expect({ code: shown.code, stderr: shown.stderr }).toEqual({ code: 0, stderr: "" })
  const { text, characters, tokens, sections } = JSON.parse(shown.stdout)
  const next = source === "compact" ? session : machine.session()
  expect(text).toBe(contextOf(await machine.hook("session-start", next, { source }))!)
  expect(characters).toBe(text.length)
  expect(tokens).toBe(Math.ceil(characters / 3.5))
  expect(sections.reduce((sum: number, one: { characters: number }) => sum + one.characters, 0)).toBe(
    characters,
  )
  for (const { why } of sections) expect(why).not.toBe("")
})

test("explains to people why each part is there", async () => {
  using machine = new Inside()
  await archived(machine)
  const { code, stdout, stderr } = await preview(machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(stdout).toMatch(/\n\d+ characters, about \d+ tokens; session /)
  expect(stdout).toContain("Standing user constraints: ")
  expect(stdout).toMatch(
    /\n {2}Names: \d+ characters: used often and lately\n {4}retryAfter: in 1 message, the last one\n/,
  )
  expect(stdout).toMatch(/\n {4}npm run check -- retry: in 1 message, last \d+ messages? ago\n/)
})

test("nothing is given when nothing is wanted, and nothing is shown when there is nothing", async () => {
  using machine = new Inside()
  const none = await preview(machine)
  expect(none).toMatchObject({ code: 3, stdout: "" })
  expect(none.stderr).toMatch(/^ctxbridge: .+\nhint: .+\n$/)
  await archived(machine)
  const off = await run(["preview"], {
    env: { ...machine.env, CTXBRIDGE_RESTORE: "false" },
    cwd: machine.cwd,
  })
  expect(off).toMatchObject({ code: 0, stdout: "Nothing would be restored.\n", stderr: "" })
  expect(await preview(machine, "--source", "never")).toMatchObject({ code: 64, stdout: "" })
})
