/** PARSER goes up when the views say something else of the same transcripts: else old views are not made anew. */
import { expect, test } from "bun:test"
import { cpSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { transcriptsBelow } from "../../../src/job/find-transcripts.ts"
import { importTranscripts } from "../../../src/job/import-transcripts.ts"
import { besideTranscript } from "../../../src/vault/files-beside.ts"
import { openCurrent } from "../../../src/views/open-current.ts"
import { PARSER } from "../../../src/views/schema.ts"
import { conditionsOf } from "../../support/conditions.ts"
import { tempFolder } from "../../support/temp.ts"
import { namedSearch, namedViews } from "../../support/views.ts"

const GOLDEN = "test/golden/views.tsv"
const ROOT = join(import.meta.dir, "../../..")
const TRANSCRIPTS = join(ROOT, "test/golden/transcripts")

/** What an import makes of the transcripts below a folder: each table's rows, and the index of words. */
function viewsOf(transcripts: string): Record<string, readonly string[]> {
  using folder = tempFolder()
  const home = folder.path
  const claudeDir = join(home, ".claude")
  const project = join(claudeDir, "projects/-home-dev-shop")
  cpSync(transcripts, project, { recursive: true })
  cpSync(join(transcripts, "history.jsonl"), join(claudeDir, "history.jsonl"))
  const paths = transcriptsBelow(project).filter((path) => !path.endsWith("/history.jsonl"))
  const all = [...paths, ...paths.flatMap(besideTranscript), join(claudeDir, "history.jsonl")]
  // The rules for secrets have a number of their own.
  const place = {
    dataHome: join(home, "archive"),
    home,
    stateHome: join(home, "state"),
    exclude: [],
    secrets: { enabled: false, patterns: [] },
  }
  const report = importTranscripts(place, all, { dryRun: false, check: false })
  expect(report).toMatchObject({ ok: true, indexError: undefined })
  using db = openCurrent(place.dataHome, "command")
  const views = { ...namedViews(db), words: namedSearch(db).words }
  return Object.fromEntries(
    Object.entries(views).map(([table, rows]) => [table, rows.map((row) => row.replaceAll(home, "/home"))]),
  )
}

/** What sentences and outputs are told by: no transcripts could hold every wording. */
const TOLD_BY = new Bun.Glob("{wording*,noted-*,choices,error-*,failed-*,runner*,script-essence}.ts")

function wording(): string[] {
  const folder = join(ROOT, "src/record")
  return [...TOLD_BY.scanSync(folder)].flatMap((name) =>
    conditionsOf(readFileSync(join(folder, name), "utf8")),
  )
}

const views = { ...viewsOf(TRANSCRIPTS), wording: wording() }
const hash = (rows: readonly string[]): string =>
  new Bun.CryptoHasher("sha256").update(rows.toSorted().join("\n")).digest("hex").slice(0, 12)
const made = ["view\trows\thash", `PARSER\t${PARSER}\t`].concat(
  Object.entries(views).map(([table, rows]) => `${table}\t${rows.length}\t${hash(rows)}`),
)

test("each of them has rows, so that no change goes unseen", () => {
  expect(Object.keys(views).length).toBeGreaterThan(10)
  expect(Object.entries(views).filter(([, rows]) => rows.length === 0)).toEqual([])
})

test("the views of the same transcripts are those of PARSER", () => {
  const file = join(ROOT, GOLDEN)
  if (process.env["CTXBRIDGE_TEST_GOLDEN"] === "write") writeFileSync(file, `${made.join("\n")}\n`)
  const golden = readFileSync(file, "utf8").trimEnd().split("\n")
  const differ = made.filter((line) => !golden.includes(line)).map((line) => line.split("\t")[0])
  if (differ.length === 0 && golden.length === made.length) return
  const write = `CTXBRIDGE_TEST_GOLDEN=write node_modules/.bin/bun test ${import.meta.path.slice(ROOT.length + 1)}`
  throw new Error(
    golden.includes(`PARSER\t${PARSER}\t`)
      ? `What the views say of test/golden/transcripts, or what tells sentences there, has changed: ${differ.join(", ")}.

Raise PARSER (src/views/schema.ts) to ${PARSER + 1}, so that views made before are made anew. The number stays only where
no archive can hold anything that is now read in another way: for a new column that is still empty, or when what tells
sentences ("wording") was written anew and means the same. Then

  ${write}
`
      : `PARSER is another number than in ${GOLDEN}:

  ${write}
`,
  )
})
