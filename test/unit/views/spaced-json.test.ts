/** Other writers of JSON put blanks behind names and commas: such a transcript is read like Claude Code's own. */
import { expect, test } from "bun:test"
import { readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Inside, run } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

const WAYS: Readonly<Record<string, (line: string) => string>> = {
  "as Claude Code writes it": (line) => line,
  "with blanks behind names": (line) => spaced(line, ": "),
  "with blanks around colons": (line) => spaced(line, " : "),
}

/** Line breaks within strings are escaped, so those that are left stand between names and values. */
const spaced = (line: string, colon: string): string =>
  JSON.stringify(JSON.parse(line), null, 1).replace(/\n\s*/g, " ").replace(/" ?: /g, `"${colon}`)

const RULE = "Never touch the generated files."

async function told(write: (line: string) => string): Promise<unknown> {
  using machine = new Inside()
  const flush = (session: Transcript): Transcript => {
    const lines = session.take().trimEnd().split("\n")
    for (const line of lines) session.raw(write(line))
    return session.flush()
  }
  const session = machine
    .session()
    .turn(`Add retries. ${RULE}`, [
      { tool: "Edit", input: { file_path: "/src/app/client.ts" }, output: "ok" },
    ])
  await machine.hook("stop", flush(session))
  // Old hosts keep subagents beside the session and name it in each line.
  const agent = machine.session({ id: "agent-77aa" })
  agent.line({
    type: "user",
    sessionId: session.session,
    isSidechain: true,
    message: { role: "user", content: "Look." },
  })
  flush(agent)
  const imported = await run(["import", "--quiet"], machine)
  flush(session.boundary().summary(`The user wants this: ${RULE}`))
  const restored = contextOf(await machine.hook("session-start", session, { source: "compact" }))
  rmSync(session.path)
  const back = await run(["resurrect", session.session, "--json"], machine)
  const { sessions } = JSON.parse((await run(["sessions", "--json", "--agents"], machine)).stdout)
  const plain = (text: string): string => text.replaceAll(machine.root, "ROOT")
  return {
    codes: [imported.code, back.code],
    restored: restored?.replace(/\d[\d.]* (?:B|KB)/g, "SIZE"),
    resume: plain(JSON.stringify(JSON.parse(back.stdout).sessions[0].resume)),
    sessions: sessions.map(({ id, parent, cwd, turns }: Record<string, unknown>) => [
      id,
      parent,
      plain(String(cwd)),
      turns,
    ]),
  }
}

test("hooks, import, resurrect and listings say the same of it", async () => {
  const expected = await told(WAYS["as Claude Code writes it"]!)
  expect(expected).toMatchObject({
    codes: [0, 0],
    sessions: expect.arrayContaining([
      [
        "5e551011-0000-4000-8000-000000000001/77aa",
        "5e551011-0000-4000-8000-000000000001",
        "ROOT/project",
        1,
      ],
    ]),
  })
  expect(JSON.stringify(expected)).not.toContain("Standing user constraints")
  for (const write of Object.values(WAYS)) expect(await told(write)).toEqual(expected)
})

/** A name with its value is looked for where blanks may stand between them, or not at all. */
test("no source looks for a name and its value as one piece of text", () => {
  const src = join(import.meta.dir, "../../../src")
  const looks = /['"`/(|]"[A-Za-z_]+":(?:"|true|false|null|\[|\\d|\\{|\(")/
  const found: string[] = []
  for (const file of readdirSync(src, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || /^(?:cli\/bench|claude\/fake|cli\/demo)\//.test(file)) continue
    for (const [n, line] of readFileSync(join(src, file), "utf8").split("\n").entries())
      if (looks.test(line)) found.push(`${file}:${n + 1}: ${line.trim()}`)
  }
  expect(found).toEqual([])
})
