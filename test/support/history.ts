/** A history that is long enough for `import` to start a child, and what an import of it must give. */
import { Database } from "bun:sqlite"
import { expect } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { generateTranscript } from "../../src/cli/bench/corpus.ts"
import { transcriptsBelow } from "../../src/job/find-transcripts.ts"
import { importTranscripts } from "../../src/job/import-transcripts.ts"
import { FILTERED } from "../../src/secrets/filter.ts"
import { contentOf, type Machine } from "./machine.ts"
import { dumpViews, dumpWords } from "./views.ts"

const MB = 1 << 20

const idOf = (n: number): string => `5e551011-0000-4000-8000-${String(n).padStart(12, "0")}`

/** Sessions of several megabytes, one of them forked from another, and a subagent. */
export function writeHistory(machine: Machine, sessions: number): void {
  const write = (name: string, lines: readonly string[]): void => {
    const path = machine.path(name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, lines.join(""))
  }
  const linesOf = (n: number, bytes: number): string[] => {
    const session = { seed: n, bytes, sessionId: idOf(n), cwd: machine.cwd, version: "2.1.229" }
    return [...generateTranscript(session)]
  }
  for (let n = 1; n <= sessions; n++) write(`${idOf(n)}.jsonl`, linesOf(n, 1.5 * MB))
  const origin = linesOf(1, 1.5 * MB)
  const shared = origin.slice(0, origin.length / 2).map((line) => line.replaceAll(idOf(1), idOf(90)))
  write(`${idOf(90)}.jsonl`, [...shared, ...linesOf(90, MB / 4)])
  const agent = linesOf(91, MB / 4).map((line) =>
    line
      .replaceAll(idOf(91), idOf(2))
      .replaceAll('"isSidechain":false', '"isSidechain":true,"agentId":"a1b2"'),
  )
  write(join(idOf(2), "subagents", "agent-a1b2.jsonl"), agent)
}

/** Imports the machine's history in this process, into another archive. */
export function importedAlone(machine: Machine, folder: string): string {
  const dataHome = join(machine.root, "alone")
  const place = {
    dataHome,
    home: machine.home,
    stateHome: join(dataHome, "state"),
    secrets: FILTERED,
    exclude: [],
  }
  const report = importTranscripts(place, transcriptsBelow(folder), { dryRun: false, check: false })
  if (!report.ok) throw new Error(JSON.stringify(report.files.filter(({ error }) => error !== undefined)))
  return dataHome
}

/** All rows of all tables, all words, and the content of all copies. */
export function wholeArchive(dataHome: string, copies: readonly string[]) {
  const db = new Database(join(dataHome, "archive.db"))
  try {
    return {
      integrity: db.query("PRAGMA integrity_check").get(),
      views: dumpViews(db),
      words: dumpWords(db),
      vault: copies.map((copy) => Bun.hash(contentOf(join(dataHome, "vault", copy))).toString(16)),
    }
  } finally {
    db.close()
  }
}

type WholeArchive = ReturnType<typeof wholeArchive>

/** Compares piece by piece: a difference of all words would fill a hundred screens. */
export function expectSame(found: WholeArchive, wanted: WholeArchive): void {
  expect(found.integrity).toEqual({ integrity_check: "ok" })
  expect(found.vault).toEqual(wanted.vault)
  for (const [table, rows] of Object.entries(wanted.views)) {
    expect({ table, rows: found.views[table]?.length }).toEqual({ table, rows: rows.length })
    const different = rows.findIndex((row, n) => !Bun.deepEquals(row, found.views[table]![n]))
    if (different >= 0) expect(found.views[table]![different]).toEqual(rows[different])
  }
  expect(Bun.deepEquals(found.words, wanted.words)).toBe(true)
}
