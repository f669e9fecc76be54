/** Indexing uses more statements than Bun keeps by default. None may be compiled twice. */
import { Database } from "bun:sqlite"
import { expect, spyOn, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { generateTranscript } from "../../../src/cli/bench/corpus.ts"
import { importTranscripts } from "../../../src/job/import-transcripts.ts"
import { FILTERED } from "../../../src/secrets/filter.ts"
import { tempFolder } from "../../support/temp.ts"

/** What Bun keeps unless told otherwise. */
const USUAL = 20
const SESSIONS = 3

test("an import compiles each statement once", () => {
  using folder = tempFolder()
  const paths = Array.from({ length: SESSIONS }, (_, n) => {
    const sessionId = `5e551011-0000-4000-8000-${String(n).padStart(12, "0")}`
    const session = { seed: n + 1, bytes: 200_000, sessionId, cwd: "/src/app", version: "2.1.229" }
    const path = join(folder.path, "projects", "app", `${sessionId}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, [...generateTranscript(session)].join(""))
    return path
  })
  const places = { dataHome: join(folder.path, "archive"), home: folder.path, stateHome: folder.path }
  const place = { ...places, secrets: FILTERED, exclude: [] }
  /** By connection and text: Bun gives the same object again as long as it keeps the statement. */
  const compiled = new Map<Database, Map<string, Set<unknown>>>()
  const query = spyOn(Database.prototype, "query")
  try {
    const report = importTranscripts(place, paths, { dryRun: false, check: false })
    expect(report.ok).toBe(true)
    for (const [n, [sql]] of query.mock.calls.entries()) {
      const connection = query.mock.contexts[n] as Database
      const own = compiled.get(connection) ?? new Map<string, Set<unknown>>()
      compiled.set(connection, own.set(sql, (own.get(sql) ?? new Set()).add(query.mock.results[n]!.value)))
    }
  } finally {
    query.mockRestore()
  }
  const statements = [...compiled.values()]
  expect(Math.max(...statements.map(({ size }) => size))).toBeGreaterThan(USUAL)
  const again = statements.flatMap((own) => [...own].filter(([, made]) => made.size > 1))
  expect(again.map(([sql]) => sql)).toEqual([])
})
