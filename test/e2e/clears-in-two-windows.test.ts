/** `/clear` in two windows of a project: each goes on with its own. */
import { expect, test } from "bun:test"
import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { binary } from "../support/binary.ts"
import { type HookName, Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

/** A window of Claude Code: calls a hook for a session, and says what it has answered. */
type Host = (event: HookName, session: Transcript, fields: Record<string, unknown>) => Promise<string>

/** As newer versions of Claude Code: they say their process. */
const newHost =
  (machine: Machine, id: number): Host =>
  async (event, session, fields) => {
    const ran = await machine.hook(event, session, fields, { env: { CLAUDE_PID: String(id) } })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    return ran.stdout
  }

/** Reads a command and a file for its stdin from each line, and lets a shell run it, which does not become the command. */
const HOST = `#!/bin/sh
while read -r file command; do
  sh -c "$command; exit \\$?" <"$file" >"$file.out" 2>"$file.err"
  echo "$?"
done
`

interface OldHost extends AsyncDisposable {
  readonly call: Host
}

/**
 * As older versions of Claude Code: what they have in common with a hook is that they started the shell that started
 * it.
 */
function oldHost(machine: Machine, name: string): OldHost {
  const script = join(machine.root, name)
  writeFileSync(script, HOST)
  chmodSync(script, 0o755)
  const child = Bun.spawn([script], {
    env: { ...machine.env, PATH: process.env["PATH"] ?? "" },
    stdin: "pipe",
  })
  const answers = child.stdout.getReader()
  let calls = 0
  return {
    call: async (event, session, fields) => {
      const file = join(machine.root, `${name}-${++calls}`)
      writeFileSync(file, machine.payload(event, session, fields))
      child.stdin.write(`${file} ${binary()} hook ${event}\n`)
      await child.stdin.flush()
      const { value } = await answers.read()
      const [stdout = "", stderr] = await Promise.all(
        ["out", "err"].map((end) => Bun.file(`${file}.${end}`).text()),
      )
      expect({ code: new TextDecoder().decode(value), stderr }).toEqual({ code: "0\n", stderr: "" })
      return stdout
    },
    [Symbol.asyncDispose]: async () => {
      await child.stdin.end()
      await child.exited
    },
  }
}

/** Both windows are cleared, then the one that was cleared first goes on. */
async function expectOwn(machine: Machine, one: Host, two: Host): Promise<void> {
  const first = machine.session().turn("Never touch the parser's tables.").flush()
  const second = machine.session().turn("Never rename the public functions.").flush()
  await one("session-end", first, { reason: "clear" })
  await two("session-end", second, { reason: "clear" })
  const given = [
    await one("session-start", machine.session(), { source: "clear" }),
    await two("session-start", machine.session(), { source: "clear" }),
  ]
  expect(given[0]).toContain("the parser's tables")
  expect(given[0]).not.toContain("the public functions")
  expect(given[1]).toContain("the public functions")
  expect(given[1]).not.toContain("the parser's tables")
  using views = machine.views()
  expect(views.query("SELECT parent FROM lineage ORDER BY child").values()).toEqual([
    [first.session],
    [second.session],
  ])
}

/**
 * After `/clear` in two windows of a project, the first session that began was given what the other window's had been
 * about: only the latest end was remembered, and any beginning took it.
 */
test("each window goes on with its own: hosts that say their process", async () => {
  using machine = new Machine()
  await expectOwn(machine, newHost(machine, 4001), newHost(machine, 4002))
})

test.skipIf(process.platform !== "linux")("each window goes on with its own: hosts before", async () => {
  using machine = new Machine()
  await using one = oldHost(machine, "one.sh")
  await using two = oldHost(machine, "two.sh")
  await expectOwn(machine, one.call, two.call)
})

test("a host that was started anew takes the latest, and each is taken once", async () => {
  using machine = new Machine()
  const first = machine.session().turn("Never touch the parser's tables.").flush()
  const second = machine.session().turn("Never rename the public functions.").flush()
  await newHost(machine, 4001)("session-end", first, { reason: "clear" })
  await newHost(machine, 4002)("session-end", second, { reason: "clear" })
  const anew = newHost(machine, 4003)
  expect(await anew("session-start", machine.session(), { source: "clear" })).toContain("public functions")
  expect(await anew("session-start", machine.session(), { source: "startup" })).toContain("parser's tables")
  const third = machine.session()
  expect(await anew("session-start", third, { source: "startup" })).not.toContain('source=\\"clear\\"')
})
