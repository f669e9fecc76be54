/**
 * How good the order of hits is, on a small corpus made here: a change of what counts that puts the turn that is looked
 * for further down fails. `bun bench/recall.ts` measures the same on data of one's own.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { Dice } from "../../../src/cli/bench/seeded-random.ts"
import { WEIGHTS } from "../../../src/find/rank.ts"
import { search } from "../../../src/find/search-turns.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { Archive } from "../../support/archive.ts"

/** Mean of 1 / place of the turn that is looked for, 0 beyond the tenth. Rounded down: raise it when it gets better. */
const FLOOR = 0.6125

const SESSIONS = 18
const TURNS = 12

interface Question {
  readonly words: string
  readonly session: string
  readonly turn: number
}

let archive: Archive
const questions: Question[] = []
const dice = new Dice(13)

const SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split(" ")
/** Words that nobody uses, so that no rule about English touches them. */
const made = (n: number): string[] =>
  Array.from({ length: n }, (_, k) =>
    [k, k * 7 + 3, k * 3 + 11, k * 13 + 5, k]
      .map((at, i) => SYLLABLES[(at + (i < 4 ? k >> 3 : 0)) % 20])
      .join(""),
  )

const one = <T>(list: readonly T[]): T => list[Math.floor(dice.unit() * list.length)]!
/** Mostly the first ones. */
const frequent = (list: readonly string[]): string => list[Math.floor(dice.unit() ** 2 * list.length)]!

const ALL = made(420)
const COMMON = ALL.slice(0, 60)
const TOPICS = ALL.slice(60, 150)
const RARE = ALL.slice(150)

const words = (n: number, ...of: readonly (readonly string[])[]): string[] =>
  Array.from({ length: n }, () => frequent(dice.unit() < 0.75 ? COMMON : one(of)))

beforeAll(() => {
  archive = new Archive()
  for (let s = 0; s < SESSIONS; s++) {
    const session = `5e55${String(s).padStart(4, "0")}-0000-4000-8000-000000000001`
    const topics = Array.from({ length: 5 }, () => one(TOPICS))
    const transcript = archive.session(session)
    for (let t = 1; t <= TURNS; t++) {
      const own = Array.from({ length: 4 }, () => one(RARE))
      const prompt = [...words(8, topics), own[0]!, one(topics), own[1]!]
      const output = words(60 + Math.floor(dice.unit() ** 4 * 3000), RARE, TOPICS, own)
      const answer = [...words(14 + Math.floor(dice.unit() * 60), topics, own), own[2]!]
      transcript.turn(
        prompt.join(" "),
        [{ tool: "Bash", input: { command: `run ${own[3]} ${one(topics)}` }, output: output.join(" ") }],
        answer.join(" "),
      )
      questions.push(
        { words: [own[0], topics[t % 5], topics[(t + 2) % 5]].join(" "), session, turn: t },
        { words: [own[1], own[2], one(topics)].join(" "), session, turn: t },
      )
    }
    archive.follow(transcript.flush())
  }
})
afterAll(() => archive[Symbol.dispose]())

function meanReciprocalRank(): number {
  using readers = new CopyReaders()
  const scores = questions.map(({ words, session, turn }) => {
    const { hits } = search(archive.db, archive.dataHome, { query: words, limit: 10 }, readers)
    const at = hits.findIndex((hit) => hit.session === session && hit.seq === turn)
    return at < 0 ? 0 : 1 / (at + 1)
  })
  return scores.reduce((sum, score) => sum + score, 0) / scores.length
}

test("what is looked for is as far up as it was", () => {
  expect(meanReciprocalRank()).toBeGreaterThanOrEqual(FLOOR)
})

test.each([
  ["session", 0.4],
  ["lengths", 0.5],
  ["lengths", 0.7],
] as const)("a small change falls below: %s %f", (name, value) => {
  const former = WEIGHTS[name]
  try {
    WEIGHTS[name] = value
    expect(meanReciprocalRank()).toBeLessThan(FLOOR)
  } finally {
    WEIGHTS[name] = former
  }
})
