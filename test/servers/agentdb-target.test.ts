/** Entries in the real `@claude-flow/memory`; skipped where npm cannot bring it. */
import { Database } from "bun:sqlite"
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openAgentdbTarget } from "../../src/sync/targets/agentdb-target.ts"
import { agentdbFolder } from "../support/agentdb.ts"
import { closing } from "../support/closing.ts"
import { tempFolder } from "../support/temp.ts"
import { draft, nameOfEntry, targetContract } from "../unit/sync/contract.ts"

setDefaultTimeout(60_000)

const folder = await agentdbFolder()
const isThere = folder !== undefined

const open = (file: string, isReader = false) =>
  openAgentdbTarget(
    { folder: folder!, file, exePath: process.execPath, env: { PATH: "/usr/bin:/bin" } },
    isReader,
  )

const target = async () => {
  const made = tempFolder()
  const file = join(made.path, "memory.db")
  return {
    open: () => open(file),
    read: () => open(file, true),
    [Symbol.asyncDispose]: async () => made[Symbol.dispose](),
  }
}

targetContract("agentdb", target, { frames: false, isThere })

test.skipIf(!isThere)("several writers at once lose nothing, and it is one private file", async () => {
  using target = tempFolder()
  const file = join(target.path, "memory.db")
  const writers = await Promise.all([1, 2, 3].map(() => open(file)))
  const reader = await open(file, true)
  let isDone = false
  await Promise.all([
    Promise.all(
      writers.map(async (one, n) => {
        for (let m = 0; m < 5; m++) await one.put([draft({ sessionId: `writer-${n}` })])
      }),
    ).then(() => {
      isDone = true
    }),
    (async () => {
      for (let before = 0; !isDone; ) {
        const { entries, damaged } = await reader.stats()
        expect({ damaged, isFewer: entries < before }).toEqual({ damaged: 0, isFewer: false })
        before = entries
      }
    })(),
  ])
  await reader.close()
  expect(await writers[0]!.stats()).toEqual({ entries: 15, sessions: 3, forgotten: 0, damaged: 0 })
  for (const one of writers) await one.close()
  expect(readdirSync(target.path).sort()).toEqual(["memory.db", "memory.db.lock"])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const again = await open(file, true)
  expect((await again.stats()).entries).toBe(15)
  await again.close()
})

test.skipIf(!isThere)(
  "forgotten text is not in the file any more; what others keep there stays",
  async () => {
    using target = tempFolder()
    const file = join(target.path, "memory.db")
    const backend = await open(file)
    const secret = draft({ content: "the launch code is swordfish" })
    await backend.put([secret, draft({ content: "kept" })])
    expect(readFileSync(file, "latin1")).toContain("swordfish")
    await backend.forget({ ids: [secret.id] })
    await backend.close()
    expect(readFileSync(file, "latin1")).not.toContain("swordfish")
    const again = await open(file)
    expect(await again.stats()).toEqual({ entries: 1, sessions: 1, forgotten: 1, damaged: 0 })
    await again.close()
  },
)

test.skipIf(!isThere)("a damaged row costs itself alone", async () => {
  for (const [damage, mended] of [
    ["metadata = '{'", 0],
    [`metadata = '"text"'`, 1],
    ["metadata = 'null'", 1],
    ["metadata = json_set(metadata, '$.toolNames', 'Bash')", 1],
    ["content = ''", 1],
    ["tags = '{'", 0],
  ] as const) {
    using target = tempFolder()
    const file = join(target.path, "memory.db")
    const [owl, heron] = ["about the owl", "about the heron"].map((content) => draft({ content }))
    await using first = await closing(open(file))
    await first.put([owl!, heron!])
    const db = new Database(file)
    db.run(`UPDATE memory_entries SET ${damage} WHERE content = 'about the owl'`)
    db.close()
    await using again = await closing(open(file))
    const found = await again.find({ words: "about", limit: 3 })
    expect({ damage, found: found.map(({ id }) => id) }).toEqual({ damage, found: [heron!.id] })
    const sent = [owl!, heron!].map((entry) => ({ ...nameOfEntry(entry), key: entry.key, messages: 2 }))
    expect((await again.lacking(sent)).map(({ id }) => id)).toEqual([owl!.id])
    // Rows that the package itself cannot read are not ours to remove.
    if (mended > 0) expect({ damage, mended: await again.mend() }).toEqual({ damage, mended })
    expect((await again.stats()).damaged).toBe(0)
  }
})

test.skipIf(!isThere)(
  "the namespace, type, tags and metadata are the design documents'; what others have there stays",
  async () => {
    using target = tempFolder()
    const file = join(target.path, "memory.db")
    await using one = await closing(open(file))
    const entry = draft({ content: "about the owl", toolNames: ["Bash"], trigger: "manual", preTokens: 7 })
    await one.put([entry])
    const db = new Database(file)
    const query = "SELECT * FROM memory_entries WHERE namespace = 'transcript-archive'"
    const [row] = db.query<Record<string, unknown>, []>(query).all()
    const { type, access_level: access, key, tags, metadata } = row!
    expect({ type, access, key }).toEqual({ type: "episodic", access: "private", key: entry.key })
    expect(JSON.parse(String(tags))).toEqual([...entry.tags!, "ctxbridge"])
    expect(JSON.parse(String(metadata))).toEqual({ ...entry.metadata, summary: entry.summary })
    copyOfRow(db, entry.id, "id = 'theirs', key = 'k', tags = '[]', metadata = '{}'")
    db.close()
    await using again = await closing(open(file))
    expect(await again.stats()).toMatchObject({ entries: 1, damaged: 0 })
    expect(await again.mend()).toBe(0)
    await again.put([draft({ content: "more" })])
    const after = new Database(file, { readonly: true })
    expect(after.query("SELECT id FROM memory_entries WHERE id = 'theirs'").all()).toHaveLength(1)
    after.close()
  },
)

/** Adds a row like the one of an entry, but for some columns. */
function copyOfRow(db: Database, id: string, but: string): void {
  db.query("CREATE TEMP TABLE copied AS SELECT * FROM memory_entries WHERE id = ?").run(id)
  db.run(`UPDATE copied SET ${but}; INSERT INTO memory_entries SELECT * FROM copied; DROP TABLE copied`)
}

test.skipIf(!isThere)("an earlier version's entries are read, and what it forgot goes", async () => {
  using target = tempFolder()
  const file = join(target.path, "memory.db")
  await using first = await closing(open(file))
  const [owl, heron] = ["about the owl", "about the heron"].map((content) => draft({ content }))
  await first.put([owl!, heron!])
  const db = new Database(file)
  // It has one namespace of its own, and neither sees nor removes what is in another.
  db.query(
    "UPDATE memory_entries SET namespace = 'ctxbridge', tags = '[\"ctxbridge\"]', metadata = ? WHERE id = ?",
  ).run(JSON.stringify({ summary: owl!.summary, metadata: owl!.metadata }), owl!.id)
  const name = `id ${heron!.id}`
  copyOfRow(
    db,
    heron!.id,
    `id = 'ctxbridge-forgotten ${name}', key = '${name}', namespace = 'ctxbridge-forgotten', content = '${name}', metadata = '{}'`,
  )
  db.close()
  await using again = await closing(open(file))
  expect(await again.put([owl!, heron!])).toEqual({ stored: 0, known: 1, refused: 1 })
  expect((await again.get(owl!.id))?.content).toBe("about the owl")
  expect(await again.get(heron!.id)).toBeUndefined()
  expect(await again.mend()).toBe(1)
  expect(readFileSync(file, "latin1")).not.toContain("about the heron")
  // A turn that has grown leaves nothing behind.
  const grown = draft({ content: "about the owl, too", chunkIndex: owl!.metadata.chunkIndex, messages: 4 })
  expect(grown.key).toBe(owl!.key)
  expect(await again.put([grown])).toMatchObject({ stored: 1 })
  expect(await again.stats()).toEqual({ entries: 1, sessions: 1, forgotten: 1, damaged: 0 })
})

test("a folder without the package, and a package that cannot be loaded", async () => {
  using target = tempFolder()
  const file = join(target.path, "memory.db")
  const openAt = (name: string) =>
    openAgentdbTarget({ folder: join(target.path, name), file, exePath: process.execPath, env: {} })
  await expect(openAt("missing")).rejects.toMatchObject({ code: "target-missing", hint: expect.any(String) })
  mkdirSync(join(target.path, "empty"))
  writeFileSync(join(target.path, "empty", "package.json"), "{}")
  await expect(openAt("empty")).rejects.toMatchObject({
    code: "target-failed",
    message: expect.stringContaining("cannot be loaded"),
    hint: expect.stringContaining("@claude-flow/memory"),
  })
})
