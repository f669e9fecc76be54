/** What `import` says it took. */
import { expect, test } from "bun:test"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { open } from "../../../src/views/open.ts"
import { doneIn } from "../../support/events.ts"
import { Inside, run } from "../../support/inside.ts"
import { makeLeafhill } from "../../support/leafhill.ts"
import type { Machine } from "../../support/machine.ts"

const there = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

/** Writes claude-flow's archive; each word is a session with one turn for each letter. */
function flow(machine: Machine, ...sessions: string[]): string {
  const entries = sessions.flatMap((sessionId) =>
    [...sessionId].map((letter, chunkIndex) => ({
      id: `${sessionId}-${chunkIndex}`,
      content: `User: ask ${letter} of ${sessionId}\n\nAssistant: told`,
      metadata: { sessionId, chunkIndex },
      createdAt: Date.UTC(2026, 0, 1) + chunkIndex,
    })),
  )
  const file = join(machine.root, "archive.json")
  writeFileSync(file, JSON.stringify(entries))
  return file
}

/** While another process writes to the views. */
async function locked<T>(machine: Machine, work: () => Promise<T>): Promise<T> {
  const db = open(machine.dataHome, "write", 2000)
  try {
    db.run("BEGIN IMMEDIATE")
    return await work()
  } finally {
    db.close()
  }
}

/**
 * An import of another tool's archive told that nothing was new when the vault had taken all of it and only the views
 * were locked. One damaged copy kept all other sessions out, also with `--check`. And an import of transcripts ended
 * without a report when the views were locked and a project had no pointer. Rows that a tool had stored twice were
 * told as imported before, and leafhill's rows without a session were dropped without a word.
 */
test("what the vault took is told, although the views are locked", async () => {
  using machine = new Inside()
  expect((await there(machine, "import", flow(machine, "a"))).code).toBe(0)
  const file = flow(machine, "a", "bc")
  const { code, stdout } = await locked(machine, () => there(machine, "import", "--no-wait", file, "--json"))
  const done = doneIn(stdout)
  expect({ code, ok: done.ok, indexError: done.indexError }).toEqual({
    code: 1,
    ok: false,
    indexError: "database is locked",
  })
  expect(done.files).toMatchObject([
    { taken: done.takenBytes, archive: { sessions: 2, lines: { taken: 4, known: 2, held: 0 } } },
  ])
  expect(done.takenBytes).toBeGreaterThan(0)
  expect((await there(machine, "export", "bc~claude-flow", "--jsonl")).stdout).toContain("ask c of bc")
})

test("a damaged copy keeps no other session out, and --check takes its session again", async () => {
  using machine = new Inside()
  expect((await there(machine, "import", flow(machine, "first", "second", "third"))).code).toBe(0)
  const copy = join(machine.dataHome, "vault/imported/claude-flow/second~claude-flow.jsonl.zst")
  const bytes = readFileSync(copy)
  bytes[bytes.length - 140]! ^= 0xff
  writeFileSync(copy, bytes)
  const file = flow(machine, "first", "second", "third", "fourth")
  const half = await there(machine, "import", file)
  expect(half).toMatchObject({ code: 1, stderr: "" })
  expect(half.stdout).toStartWith("1 file examined\nArchived ")
  expect(half.stdout).toContain("\nclaude-flow: 12 entries new in 3 sessions; 20 imported before ")
  expect(half.stdout).toContain(`\nfailed: ${file}: session second~claude-flow: `)
  const whole = await there(machine, "import", file, "--check")
  expect(whole).toMatchObject({ code: 0, stderr: "" })
  expect(whole.stdout).toContain("\nclaude-flow: 12 entries new in 4 sessions; 32 imported before ")
  expect(existsSync(copy.replace(".jsonl.zst", ".~1.jsonl.zst"))).toBe(true)
  expect((await there(machine, "export", "second~claude-flow", "--raw")).stdout).toContain("ask d of second")
})

test("locked views and no pointer: the report is there", async () => {
  using machine = new Inside()
  machine.session().turn("One.").flush()
  expect((await there(machine, "import")).code).toBe(0)
  rmSync(join(machine.dataHome, "pointers"), { recursive: true })
  machine.session().turn("Two.").flush()
  const { code, stdout } = await locked(machine, () => there(machine, "import", "--no-wait"))
  expect(code).toBe(1)
  expect(stdout).toMatch(/^2 transcripts examined\nArchived \d+ B from 1 transcript\n/)
  expect(stdout).toContain("Archived, but not indexed yet: database is locked")
})

test("rows that are stored twice or belong to no session", async () => {
  using machine = new Inside()
  const file = join(machine.root, "memory.db")
  const db = makeLeafhill(file)
  db.run(
    "INSERT INTO conversations (role, content, created_at) VALUES ('user', 'Whose?', '2026-03-01 13:00:00')",
  )
  db.close()
  const told = await there(machine, "import", file)
  expect(told.stdout).toContain(`\nleafhill: 6 entries new in 3 sessions (${file})\n`)
  expect((await there(machine, "export", "unnamed~leafhill")).stdout).toContain("Whose?")
})
