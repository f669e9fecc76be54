/** Has a model write about one session, and keeps what it wrote. */
import { keepSummary } from "../archive/kept-summaries.ts"
import { type Asked, askClaude } from "../claude/settings/run-claude.ts"
import type { Paths, Policy } from "../config/load.ts"
import type { WrittenSummary } from "../transcript/model-summary.ts"
import { CtxError, throwBusy } from "../util/errors.ts"
import { closeSync } from "../util/fs.ts"
import { holdLockFile } from "../util/lock.ts"
import { join } from "../util/path.ts"
import { answerIn, promptFor, SYSTEM_PROMPT } from "./prompt.ts"
import type { SessionMaterial } from "./session-material.ts"

/**
 * Runs `work` while nobody else has summaries written: two would pay for the same session.
 *
 * @throws CtxError `busy`
 */
export async function summarizingAlone<T>(dataHome: string, work: () => Promise<T>): Promise<T> {
  const fd = holdLockFile(join(dataHome, "summaries.lock"), 0)
  if (fd === undefined) throwBusy("summaries are being written already")
  try {
    return await work()
  } finally {
    closeSync(fd)
  }
}

export interface SummarizeOptions extends Pick<Asked, "program" | "model" | "isOver"> {
  readonly place: Pick<Paths, "dataHome"> & Pick<Policy, "secrets">
  /** Whether former observations stand no more. */
  readonly anew: boolean
  /** ms since the epoch. */
  readonly now: () => number
}

export interface Summarized extends WrittenSummary {
  readonly model: string
  /** US dollars of all answers that it took; null: not told. */
  readonly cost: number | null
}

/** An answer that is no use is asked for once more. */
const ATTEMPTS = 2

/**
 * Returns once it is in the vault; the views follow.
 *
 * @throws CtxError `client-failed`, `bad-answer`, `forgotten`; nothing is kept then
 */
export async function summarizeSession(
  material: SessionMaterial,
  options: SummarizeOptions,
): Promise<Summarized> {
  const { program, model, isOver, place, anew, now } = options
  let cost: number | null = null
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const prompt = promptFor(material, attempt > 0)
    const answered = await askClaude({ program, model, isOver, system: SYSTEM_PROMPT, prompt })
    if (answered.cost !== null) cost = (cost ?? 0) + answered.cost
    const written = answerIn(answered.text, material)
    if (written === undefined) continue
    const { session, seq, last, ended } = material
    const timestamp = new Date(now()).toISOString()
    const about = { session, timestamp, ended: ended || timestamp, model: answered.model }
    keepSummary(place, { ...about, cost, seq, last, anew, ...written })
    return { ...written, model: answered.model, cost }
  }
  throw new CtxError("bad-answer", `the model gave no usable answer in ${ATTEMPTS} attempts`, {
    hint: "nothing was kept of it; another --model may do better",
  })
}
