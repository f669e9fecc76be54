/** How much of what answers a question each kind of search shows. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { CtxError, EXIT } from "../../src/base/errors.ts"
import { temporaryFolder, untilHeard } from "../../src/base/temporary.ts"
import { type Embedder, type RuntimeName, vectorOf } from "../../src/find/embed/embedder.ts"
import { semanticSearch } from "../../src/find/embed/semantic-search.ts"
import { hitTexts } from "../../src/find/hit.ts"
import { NEAREST, type SearchRequest, search } from "../../src/find/search-turns.ts"
import { embedCycle } from "../../src/job/embedding.ts"
import { importTranscripts } from "../../src/job/import-transcripts.ts"
import { FILTERED } from "../../src/secrets/filter.ts"
import { CopyReaders } from "../../src/vault/reader.ts"
import type { Database } from "../../src/views/database.ts"
import { open } from "../../src/views/open.ts"
import { bm25, hashed, turnTexts } from "./baselines.ts"
import { conversationsIn, conversationsWithoutQuestions } from "./conversations.ts"
import { codingQuestions } from "./made-questions.ts"
import { ASKED, mean, type Question, type Scores, type Shown, scoreOf } from "./scores.ts"

export interface RecallReport {
  readonly questions: number
  /** What made the vectors of the arms that search by meaning. */
  readonly embedder: { readonly id: string; readonly runtime: RuntimeName }
  /** By arm, then by group of questions; `all` comes last. */
  readonly arms: Readonly<Record<string, Readonly<Record<string, Scores>>>>
}

export interface RecallOptions {
  readonly folder: string
  readonly embedder: Embedder
  readonly onProgress?: (label: string, done: number, total: number) => void
}

/**
 * Each conversation gets its own archive. If the folder has no questions, they are made from the transcripts.
 *
 * @throws CtxError `no-data`
 */
export async function compareSearches(options: RecallOptions): Promise<RecallReport> {
  const { folder, embedder, onProgress } = options
  const all = conversationsIn(folder)
  const conversations = all.length > 0 ? all : conversationsWithoutQuestions(folder)
  if (conversations.length === 0) {
    throw new CtxError("no-data", `neither questions (*.gold.json) nor transcripts in ${folder}`, {
      exit: EXIT.notFound,
    })
  }
  const scores = new Map<string, Map<string, Scores[]>>()
  using temporary = temporaryFolder("recall")
  const work = temporary.path
  let questions = 0
  for (const [n, conversation] of conversations.entries()) {
    const dataHome = join(work, conversation.name)
    mkdirSync(dataHome, { recursive: true })
    importTranscripts(
      { dataHome, home: work, stateHome: join(work, "state"), secrets: FILTERED, exclude: [] },
      conversation.transcripts,
      { dryRun: false, check: false },
    )
    await untilHeard()
    const db = open(dataHome, "write", 0)
    const readers = new CopyReaders()
    try {
      const asked = conversation.questions ?? codingQuestions(db, dataHome, readers)
      questions += asked.length
      await embedAll(db, dataHome, embedder)
      await ask(asked, armsOf(db, dataHome, embedder, readers), scores)
    } finally {
      readers.close()
      db.close()
    }
    onProgress?.("asking", n + 1, conversations.length)
  }
  const arms = Object.fromEntries([...scores].map(([arm, groups]) => [arm, averages(groups)]))
  return { questions, embedder: { id: embedder.id, runtime: embedder.runtime }, arms }
}

/** Like the background job, but until all is done. */
async function embedAll(db: Database, dataHome: string, embedder: Embedder): Promise<void> {
  let below: number | undefined = Number.MAX_SAFE_INTEGER
  while (below !== undefined) below = await embedCycle(db, dataHome, embedder, below, () => false)
}

type Arm = (question: string, limit: number) => Shown[] | Promise<Shown[]>

function armsOf(
  db: Database,
  dataHome: string,
  embedder: Embedder,
  readers: CopyReaders,
): ReadonlyMap<string, Arm> {
  const turns = turnTexts(db, dataHome, readers)
  const found = (request: SearchRequest): Shown[] =>
    search(db, dataHome, request, readers).hits.map((hit) => ({
      handle: hit.handle,
      text: hitTexts(hit).join("\n"),
    }))
  const similar = async (query: string) =>
    semanticSearch(db, await vectorOf(embedder, query), { limit: NEAREST })
  return new Map<string, Arm>([
    ["hash embedding", hashed(turns)],
    ["BM25 of turns", bm25(db, turns)],
    ["lexical", (query, limit) => found({ query, limit })],
    [
      "semantic",
      async (query, limit) => found({ query, limit, similar: await similar(query), byWords: false }),
    ],
    [
      "hybrid",
      async (query, limit) => found({ query, limit, similar: await similar(query), isHybrid: true }),
    ],
    // As if a model were installed, whatever made the vectors.
    ["auto", async (query, limit) => found({ query, limit, similar: await similar(query) })],
  ])
}

async function ask(
  questions: readonly Question[],
  arms: ReadonlyMap<string, Arm>,
  scores: Map<string, Map<string, Scores[]>>,
): Promise<void> {
  for (const [name, arm] of arms) {
    const groups = scores.get(name) ?? new Map<string, Scores[]>()
    scores.set(name, groups)
    for (const question of questions) {
      const score = scoreOf(question, await arm(question.text, ASKED))
      for (const group of [question.group, ALL]) {
        const known = groups.get(group)
        if (known === undefined) groups.set(group, [score])
        else known.push(score)
      }
    }
  }
}

const ALL = "all"

function averages(groups: ReadonlyMap<string, readonly Scores[]>): Record<string, Scores> {
  const names = [...groups.keys()].filter((name) => name !== ALL).sort()
  return Object.fromEntries([...names, ALL].map((name) => [name, mean(groups.get(name) ?? [])]))
}
