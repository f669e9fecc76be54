/** Turns with vectors at a server, put there as SQL: by thousands, where a client would take minutes. */
import { Dice } from "../src/cli/bench/seeded-random.ts"
import type { Topics } from "./seeded-vectors.ts"

export const EMBEDDER = "seeded"
const COLUMNS =
  "tenant, key, id, session, project, started, messages, taken_back, summary, content, metadata, words, about, embedder, embedding"

export interface SeededRows {
  readonly tenant: string
  readonly from: number
  readonly to: number
}

/**
 * A statement for psql. Every tenth turn is of `/src/rare`, the others of `/src/usual`; they are a minute apart, from 2026
 * on; all have used `Bash`, and every third `Edit`.
 */
export function seededRows(topics: Topics, { tenant, from, to }: SeededRows): string {
  const dice = new Dice(from + 1)
  const rows: string[] = []
  for (let n = from; n < to; n++) {
    const key = `${tenant}-${n}`
    const project = n % 10 === 0 ? "/src/rare" : "/src/usual"
    const started = startOf(n)
    const metadata = {
      ...{ sessionId: `s-${tenant}-${n % 100}`, chunkIndex: n, timestamp: started, ended: started, project },
      ...{ toolNames: n % 3 === 0 ? ["Bash", "Edit"] : ["Bash"], filePaths: [`src/${dice.hex(8)}.ts`] },
      ...{ messages: 2, takenBack: false, type: "episodic", contentHash: dice.hex(64) },
    }
    const columns = [tenant, key, dice.hex(64), metadata.sessionId, project, started, 2, "f"]
    const words = `${dice.hex(6)} ${dice.hex(6)}`
    const content = Array.from({ length: 40 }, () => dice.hex(64)).join(" ")
    const vector = `[${Array.from(topics.near(dice), (value) => value.toFixed(6)).join()}]`
    rows.push(
      [...columns, words, content, JSON.stringify(metadata), words, "{}", EMBEDDER, vector].join("\t"),
    )
  }
  return `COPY ctxbridge.entries (${COLUMNS}) FROM stdin;\n${rows.join("\n")}\n\\.\n`
}

/** When the turn with this number began. */
export const startOf = (n: number): string => new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString()
