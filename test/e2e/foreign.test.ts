/** Archives of other tools, made by their own code (test/support/make-foreign.ts) → the archive of ours. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { openCurrent } from "../../src/views/open-current.ts"
import { run } from "../support/binary.ts"
import { doneIn, eventsIn } from "../support/events.ts"
import { LEAFHILL_SESSION, makeLeafhill } from "../support/leafhill.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { namedViews } from "../support/views.ts"

setDefaultTimeout(limit(120_000))

const FIXTURES = join(import.meta.dir, "../fixtures/foreign")
const SESSION = "3f2a9c01-1111-4222-8333-444455556666"
const NAMES = ["claude-mem.db", "transcript-archive.db", "transcript-archive.json"] as const

const there = (own: Machine, ...args: string[]) => run(args, { env: own.env, cwd: own.cwd })

function put(own: Machine, name: string, as = name): string {
  const file = join(own.root, "foreign", as)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, Bun.zstdDecompressSync(readFileSync(join(FIXTURES, `${name}.zst`))))
  return file
}

const hashOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex")

function views(own: Machine): Record<string, string[]> {
  const db = openCurrent(own.dataHome, "command")
  try {
    return namedViews(db)
  } finally {
    db.close()
  }
}

/** Every line of every imported copy. */
function linesOf(own: Machine): Record<string, unknown>[] {
  const folder = join(own.dataHome, "vault", "imported")
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".zst"))
    .sort()
    .flatMap((name) =>
      Bun.zstdDecompressSync(readFileSync(join(folder, name)))
        .toString()
        .trimEnd()
        .split("\n"),
    )
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe("an archive of another tool's", () => {
  test.each(NAMES)("%s, under any name: its turns, once, and the file is as it was", async (name) => {
    using own = new Machine()
    const file = put(own, name, "what is this?#1%20")
    const before = hashOf(file)
    const dry = doneIn((await there(own, "import", file, "--dry-run", "--json")).stdout)
    expect(existsSync(own.dataHome)).toBe(false)
    const ran = await there(own, "import", file, "--json")
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const first = doneIn(ran.stdout)
    expect(first.takenBytes).toBe(dry.takenBytes)
    expect(first.takenBytes).toBeGreaterThan(1000)
    const again = doneIn((await there(own, "import", file, "--json")).stdout)
    expect(again).toMatchObject({ ok: true, takenBytes: 0, turns: { before: first.turns.after } })
    expect(again.turns.after).toBe(first.turns.after)
    const files = [again, doneIn((await there(own, "import", file, "--dry-run", "--json")).stdout)].map(
      (done) => done.files,
    )
    expect(files[1]).toEqual(files[0])
    expect(files[0][0].archived).toBe(first.takenBytes)
    expect(hashOf(file)).toBe(before)
    expect(readdirSync(dirname(file))).toEqual(["what is this?#1%20"])
    const shown = await there(own, "export", `${SESSION}~${first.files[0].archive.tool}`)
    expect(shown.stdout).toContain("Make the checkout retry. Never touch the ledger.")
    expect(shown.stdout).toContain("rather than a fixed delay.")
    expect((await there(own, "verify")).code).toBe(0)
  })

  test("every line is marked with its tool, file and row", async () => {
    using own = new Machine()
    const files = NAMES.slice(0, 2).map((name) => put(own, name))
    expect((await there(own, "import", ...files)).code).toBe(0)
    const hashes = files.map(hashOf)
    const lines = linesOf(own)
    expect(lines.length).toBeGreaterThan(12)
    for (const line of lines) {
      const mark = (line["ctxbridge"] as { import: Record<string, string> }).import
      expect(hashes).toContain(mark["sha256"]!)
      expect(["claude-mem", "claude-flow"]).toContain(mark["tool"]!)
      if (line["type"] !== "ctxbridge-import") expect(mark["row"]).toMatch(/^\S+$/)
    }
    const uuids = lines.map((line) => line["uuid"])
    expect(new Set(uuids).size).toBe(uuids.length)
  })

  test("leafhill's is read also while its rows are in the log of a running program", async () => {
    using own = new Machine()
    const folder = join(own.root, "foreign")
    mkdirSync(folder)
    const db = makeLeafhill(join(folder, "memory.db"), "WAL")
    try {
      const before = readdirSync(folder)
      expect(before).toContain("memory.db-wal")
      expect((await there(own, "import", join(folder, "memory.db"))).code).toBe(0)
      expect(readdirSync(folder)).toEqual(before)
    } finally {
      db.close()
    }
    const session = `${LEAFHILL_SESSION}~leafhill`
    const turns = views(own)["turns"]!.filter((row) => row.includes(session))
    // The prompt once, though it is stored three times; the result of a tool opens no turn.
    expect(turns).toHaveLength(1)
    const text = (await there(own, "export", session)).stdout
    expect(text.split("I decided to keep aliases").length).toBe(2)
    expect((await there(own, "export", "memories~leafhill")).stdout).toContain("two spaces")
    expect(readdirSync(join(own.dataHome, "state")).filter((name) => name.startsWith("foreign-"))).toEqual([])
  })

  test("where there is no room for a copy of leafhill's, none of it stays", async () => {
    using own = new Machine()
    const folder = join(own.root, "foreign")
    mkdirSync(folder)
    const db = makeLeafhill(join(folder, "memory.db"), "WAL")
    try {
      const through = ["/bin/sh", "-c", 'ulimit -f 0; exec "$0" "$@"']
      const options = { env: own.env, cwd: own.cwd, through }
      expect(await run(["import", join(folder, "memory.db")], options)).toMatchObject({ code: 1 })
    } finally {
      db.close()
    }
    expect(readdirSync(join(own.dataHome, "state")).filter((name) => name.startsWith("foreign-"))).toEqual([])
  })

  test("what the vault has from the host is left out; rows that came since are added", async () => {
    using own = new Machine()
    own
      .session({ id: LEAFHILL_SESSION })
      .turn("Rename the flags. Always keep the old ones as aliases.")
      .flush()
    expect((await there(own, "import")).code).toBe(0)
    const file = join(own.root, "memory.db")
    const db = makeLeafhill(file)
    const first = doneIn((await there(own, "import", file, "--json")).stdout)
    expect(first.files[0].archive.lines.held).toBe(2)
    expect(
      views(own)["turns"]!.filter((row) => row.includes("~leafhill") && row.includes('"prompt","Rename')),
    ).toEqual([])
    db.run(`INSERT INTO conversations (session_id, role, content, created_at, entry_type)
      VALUES ('${LEAFHILL_SESSION}-flags', 'user', 'And the manual?', '2026-03-02 10:00:00', 'raw_user')`)
    db.close()
    const second = doneIn((await there(own, "import", file, "--json")).stdout)
    expect(second.files[0].archive.lines).toMatchObject({ taken: 1 })
    expect((await there(own, "verify")).code).toBe(0)
    expect((await there(own, "export", `${LEAFHILL_SESSION}~leafhill`)).stdout).toContain("And the manual?")
  })

  test("it is no transcript of the host's, as verify says, and resurrect does not know it", async () => {
    using own = new Machine()
    expect((await there(own, "import", put(own, NAMES[0]))).code).toBe(0)
    const verified = await there(own, "verify", "--json")
    expect({ code: verified.code, stderr: verified.stderr }).toEqual({ code: 0, stderr: "" })
    const { totals } = JSON.parse(verified.stdout)
    expect(totals).toMatchObject({ deleted: 0, missing: 0 })
    expect(totals.imported).toBeGreaterThan(0)
    const lost = await there(own, "resurrect", `${SESSION}~claude-mem`)
    expect({ code: lost.code, stdout: lost.stdout }).toEqual({ code: 3, stdout: "" })
    expect(lost.stderr).toContain("no session")
  })

  test.each([
    ["the host's session", SESSION],
    ["the imported one", `${SESSION}~claude-mem`],
  ])("%s is forgotten: it stays out", async (_, session) => {
    using own = new Machine()
    own.session({ id: SESSION }).turn("Something else.").flush()
    expect((await there(own, "import")).code).toBe(0)
    const file = put(own, NAMES[0])
    if (session !== SESSION) expect((await there(own, "import", file)).code).toBe(0)
    expect(await there(own, "forget", session, "--yes")).toMatchObject({ code: 0, stderr: "" })
    const again = doneIn((await there(own, "import", file, "--json")).stdout)
    expect(again.files[0].archive.lines.forgotten).toBeGreaterThan(0)
    const copies = linesOf(own).filter(({ sessionId }) => sessionId === `${SESSION}~claude-mem`)
    expect(copies).toEqual([])
    expect((await there(own, "verify")).code).toBe(0)
  })

  test("the views are the same made anew from the vault alone", async () => {
    using own = new Machine()
    const files = NAMES.map((name) => put(own, name))
    makeLeafhill(join(own.root, "memory.db")).close()
    expect((await there(own, "import", ...files, join(own.root, "memory.db"))).code).toBe(0)
    const before = views(own)
    expect(before["turns"]!.length).toBeGreaterThan(5)
    for (const file of files) rmSync(file)
    expect((await there(own, "rebuild")).code).toBe(0)
    expect(views(own)).toEqual(before)
  })

  test("if it is damaged, strange or hostile, there is a line of error, and nothing is taken", async () => {
    using own = new Machine()
    const good = readFileSync(put(own, "claude-mem.db"))
    const folder = join(own.root, "bad")
    mkdirSync(folder)
    const torn = Buffer.from(good)
    torn.fill(0xa5, 4096, 40_960)
    const hostile = join(folder, "hostile.db")
    const db = makeLeafhill(hostile)
    db.run("ALTER TABLE conversations RENAME TO old")
    db.run(`CREATE VIEW conversations AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
      SELECT i AS id, 's' AS session_id, 'user' AS role, 'x' AS content, 'p' AS created_at FROM n`)
    db.close()
    const bad: Record<string, Uint8Array | string> = {
      "torn.db": torn,
      "half.db": good.subarray(0, good.length >> 1),
      "header.db": good.subarray(0, 100),
      "half.json": '[{"id":"1","content":"User: x',
      "strange.json": '[{"a":1}]',
    }
    for (const [name, content] of Object.entries(bad)) writeFileSync(join(folder, name), content)
    const names = [...Object.keys(bad), "hostile.db"]
    for (const name of names) {
      const ran = await there(own, "import", join(folder, name))
      expect({ name, code: ran.code, stderr: ran.stderr }).toEqual({ name, code: 1, stderr: "" })
      expect(ran.stdout.split("\n").filter((line) => line.startsWith("failed: "))).toHaveLength(1)
    }
    expect(existsSync(join(own.dataHome, "vault"))).toBe(false)
    expect(readdirSync(folder).sort()).toEqual(names.sort())
  })

  test("a session of an excluded folder is left out", async () => {
    using own = new Machine()
    const file = put(own, "claude-mem.db")
    const config = join(own.home, ".config", "ctxbridge", "config.toml")
    mkdirSync(dirname(config), { recursive: true })
    writeFileSync(config, '[capture]\nexclude = ["/src"]\n')
    const told = await there(own, "import", file)
    // The tool does not record the folder of a session without tool calls.
    expect(told.stdout).toContain("claude-mem: 1 entry new in 1 session; 7 skipped (capture.exclude) (")
    expect(JSON.stringify(linesOf(own))).not.toContain("/src/shop")
    const [{ archive }] = doneIn((await there(own, "import", file, "--json")).stdout).files
    expect(archive.lines).toEqual({ taken: 0, known: 1, held: 0, forgotten: 0, excluded: 7 })
  })

  test("a session's name cannot leave the vault", async () => {
    using own = new Machine()
    const entry = {
      id: "1",
      content: "User: out?\n\nAssistant: no",
      metadata: { sessionId: "../../../../outside", chunkIndex: 0 },
      createdAt: Date.UTC(2026, 0, 1),
    }
    const file = join(own.root, "a.json")
    writeFileSync(file, JSON.stringify([entry, { ...entry, metadata: { sessionId: "agent-x" } }]))
    expect((await there(own, "import", file)).code).toBe(0)
    const made = readdirSync(join(own.dataHome, "vault"), { recursive: true, encoding: "utf8" })
    expect(made.filter((name) => name.endsWith(".zst"))).toHaveLength(2)
    expect(existsSync(join(own.root, "outside~claude-flow.jsonl.zst"))).toBe(false)
  })

  test("if it is in its usual place, it is mentioned, not taken", async () => {
    using own = new Machine()
    own.session().turn("one").flush()
    const file = join(own.home, ".claude-mem", "claude-mem.db")
    mkdirSync(dirname(file))
    writeFileSync(file, readFileSync(put(own, "claude-mem.db")))
    const ran = await there(own, "import")
    expect(ran.stdout).toContain(`not imported: ctxbridge import ${file}`)
    expect(doneIn((await there(own, "import", "--json")).stdout).found).toEqual([file])
    expect(existsSync(join(own.dataHome, "vault", "imported"))).toBe(false)
  })
})

describe("import", () => {
  test("--json tells what happens, line by line", async () => {
    using own = new Machine()
    const transcript = own.session().turn("one").flush()
    const events = eventsIn((await there(own, "import", "--json")).stdout)
    const { size } = statSync(transcript.path)
    expect(events[0]).toEqual({
      event: "start",
      files: 1,
      transcripts: 1,
      archives: 0,
      totalBytes: size,
      dryRun: false,
    })
    expect(events.find(({ event }) => event === "file")).toMatchObject({ path: transcript.path, taken: size })
    expect(events.at(-1)).toMatchObject({
      event: "done",
      ok: true,
      takenBytes: size,
      turns: { before: 0, after: 1 },
    })
  })

  test("--quiet says nothing but what failed", async () => {
    using own = new Machine()
    const transcript = own.session().turn("one").flush()
    expect(await there(own, "import", "--quiet")).toMatchObject({ code: 0, stdout: "", stderr: "" })
    const bad = join(own.root, "bad.json")
    writeFileSync(bad, "[{")
    const ran = await there(own, "import", "-q", transcript.path, bad)
    expect(ran).toMatchObject({ code: 1, stderr: "" })
    expect(ran.stdout).toMatch(/^failed: .*bad\.json: .*\n$/)
  })
})
