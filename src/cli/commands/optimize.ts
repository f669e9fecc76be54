/** `ctxbridge optimize`: tends vault and index now. The background job does the same when it has nothing else to do. */
import { EXIT } from "../../base/errors.ts"
import { bytes, count } from "../../base/text.ts"
import type { PathsAndPolicy } from "../../config/load.ts"
import type { Config } from "../../config/options.ts"
import { standingOf } from "../../find/embed/model-files.ts"
import { Embedding } from "../../job/embedding.ts"
import { backgroundTargets, syncInBackground } from "../../job/stages.ts"
import { type KnownTurn, knownTurns } from "../../restore/worth/reopened.ts"
import { applyTiers, limitsIn, type TierPlan, tierPlan } from "../../restore/worth/tiering.ts"
import { confidences, mayGo } from "../../restore/worth/tiers.ts"
import { readAutoSync } from "../../sync/sync-again.ts"
import { type MergeReport, mergeFrames } from "../../vault/merge-frames.ts"
import type { Database } from "../../views/database.ts"
import { open } from "../../views/open.ts"
import { openCurrent } from "../../views/open-current.ts"
import { renderPairs } from "../block.ts"
import { type Command, flag } from "../command.ts"
import { createStyle, safe } from "../style.ts"

export default {
  meta: {
    name: "optimize",
    description: "Save space in the vault, tend the index, make vectors and sync, now",
  },
  args: {
    frames: flag("Only merge the vault's small frames"),
    "dry-run": flag("Show what would be done; write nothing"),
  },
  async run({ args, env, out }) {
    const dryRun = args["dry-run"] === true
    const isWhole = args["frames"] !== true
    // Nothing is archived: that is an error, and there is nothing to merge.
    if (isWhole) openCurrent(env.dataHome, "command").close()
    out.resumable("Ctrl-C keeps what is done; ctxbridge optimize continues")
    const frames =
      mergeFrames(env.dataHome, {
        dryRun,
        onProgress: (done, total) => out.progress("merging", done, total, "bytes"),
      }) ?? null
    const stages = isWhole
      ? await allStages(env, env.config, { now: Date.now(), dryRun, onProgress: out.progress })
      : undefined
    out.print(
      renderPairs([["frames", framesTold(frames)], ...(stages ? told(stages) : [])], createStyle(out.color)),
    )
    out.print(left(frames))
    out.json({ dryRun, frames, ...stages })
    return frames?.ok === false ? EXIT.failed : EXIT.ok
  },
} satisfies Command

type Told = readonly (readonly [string, string])[]

/** @param report null: another process is merging */
function framesTold(report: MergeReport | null): string {
  if (report === null) return "another process is merging"
  const { dryRun, copies, before, after, changed } = report
  const done = changed.filter(({ error }) => error === undefined)
  const frames = done.reduce((sum, one) => sum + one.frames, 0)
  const merged = done.reduce((sum, one) => sum + one.merged, 0)
  const of = `${count(copies, "copy", "copies")} of transcripts, ${bytes(before)}`
  if (done.length === 0) return `nothing to merge in ${of}`
  const what = `${frames} of ${count(done.length, "copy", "copies")} into ${merged}`
  return dryRun ? `would merge ${what}` : `merged ${what}: ${bytes(before)} before, ${bytes(after)} now`
}

const left = (report: MergeReport | null): string[] =>
  (report?.changed ?? []).flatMap(({ copy, error }) =>
    error === undefined ? [] : [`left: ${safe(copy)}: ${safe(error)}`],
  )

function told(report: CycleReport): Told {
  const { dryRun, enabled, turns, decay, demotion, retention, back, tiers, embedding } = report
  const mean = decay.meanConfidence === null ? "" : `, confidence ${decay.meanConfidence} in the mean`
  const unreadable = back.unreadable === 0 ? "" : `; ${back.unreadable} cannot be read: ctxbridge verify`
  const leave = dryRun ? "would leave the index" : "left the index"
  const size = demotion.limit === 0 ? "no limit" : `it may hold ${bytes(demotion.limit)} of transcripts`
  const days = retention.days === 0 ? "none for its age" : `after ${count(retention.days, "day")}`
  const moves: Told = [
    ["demotion", `${count(demotion.moved, "turn")} ${leave}, of ${decay.mayGo} that may; ${size}`],
    ["retention", `${count(retention.moved, "turn")} ${leave}; ${days}`],
    ["back", `${count(back.moved, "turn")} ${dryRun ? "would come back" : "came back"}${unreadable}`],
  ]
  const left = dryRun ? "would be embedded" : `embedded, ${embedding.left} left`
  return [
    // What subagents were asked and what came before a first prompt may leave the index, too; status counts no turn there.
    [
      "decay",
      `${count(turns, "turn")}, those without a prompt too, ${decay.used} used${mean}; nothing to write`,
    ],
    ...(enabled ? moves : [["demotion", "off: archive.cold"] as const]),
    ["now", `${tiers.hot} hot, ${bytes(tiers.hotBytes)} of transcripts; ${tiers.cold} cold`],
    [
      "embedding",
      embedding.enabled
        ? `${count(embedding.embedded, "turn")} ${left}, by ${safe(embedding.embedder)}`
        : "off: search.meaning",
    ],
    ["sync", syncTold(report)],
  ]
}

function syncTold({ dryRun, sync: { auto, target, stored, failure } }: CycleReport): string {
  if (auto === "off") return "off: sync.auto"
  if (target === null) return "no target: sync.to"
  if (failure !== null) return safe(failure)
  if (dryRun) return `would go on with ${safe(target)}`
  return stored === null ? "interrupted" : `${count(stored, "turn")} sent to ${safe(target)}`
}

/*
 * All stages at once: what the background job does in small steps when nothing else is to be done. Every
 * number is counted.
 */

interface CycleReport {
  readonly dryRun: boolean
  /** False: turns stay where they are, since `archive.cold` is off. */
  readonly enabled: boolean
  readonly turns: number
  /** Nothing is written for it: confidence is computed from the time and the uses whenever it is wanted. */
  readonly decay: {
    readonly used: number
    /** Of all turns whose age is known; null if there are none. */
    readonly meanConfidence: number | null
    /** Turns that may make room for others: confidence of at most 0.15, never used. */
    readonly mayGo: number
  }
  /** Turns that leave the index because it holds more than `archive.max_size` bytes of transcripts. */
  readonly demotion: { readonly limit: number; readonly moved: number }
  /** Turns that leave it because they are older than `archive.retention` days. */
  readonly retention: { readonly days: number; readonly moved: number }
  /** Turns that come back; those that stay cold, because the vault cannot be read there. */
  readonly back: { readonly moved: number; readonly unreadable: number }
  readonly tiers: { readonly hot: number; readonly cold: number; readonly hotBytes: number }
  readonly embedding: {
    readonly enabled: boolean
    readonly embedder: string
    readonly embedded: number
    /** Turns that still lack vectors. */
    readonly left: number
  }
  readonly sync: {
    /** What the option `sync.auto` allows. */
    readonly auto: Config["sync.auto"]
    readonly target: string | null
    /** Turns that were stored there; null: nobody was asked, or nobody answered. */
    readonly stored: number | null
    readonly failure: string | null
  }
}

interface CycleOptions {
  readonly now: number
  /** Nothing is written; the report says what would be done. */
  readonly dryRun: boolean
  readonly onProgress: (label: string, done: number, total: number) => void
}

async function allStages(paths: PathsAndPolicy, config: Config, options: CycleOptions): Promise<CycleReport> {
  const here = await stagesHere(paths, config, options)
  return { ...here, sync: await synced(paths, config, options.dryRun) }
}

async function stagesHere(
  paths: PathsAndPolicy,
  config: Config,
  { now, dryRun, onProgress }: CycleOptions,
): Promise<Omit<CycleReport, "sync">> {
  const { dataHome } = paths
  const enabled = config["archive.cold"]
  const limits = limitsIn(config)
  using db = opened(dataHome, dryRun)
  const turns = knownTurns(db)
  const plan = enabled ? tierPlan(turns, limits, now) : unchanged(turns)
  const unreadable = dryRun
    ? 0
    : applyTiers(db, dataHome, plan, (done, total) => onProgress("moving turns", done, total))
  return {
    dryRun,
    enabled,
    turns: turns.length,
    decay: decayOf(turns, now),
    demotion: { limit: limits.maxSize, moved: plan.bySize.length },
    retention: { days: limits.retention, moved: plan.byAge.length },
    back: { moved: plan.back.length - unreadable, unreadable },
    tiers: {
      hot: turns.length - plan.cold - unreadable,
      cold: plan.cold + unreadable,
      hotBytes: plan.hotBytes,
    },
    embedding: await embedded(db, paths, config, dryRun ? { plan } : { onProgress }),
  }
}

/** With everything indexed that hooks have archived. */
function opened(dataHome: string, dryRun: boolean): Database {
  const db = openCurrent(dataHome, "command")
  if (dryRun) return db
  db.close()
  return open(dataHome, "write")
}

function unchanged(turns: readonly KnownTurn[]): TierPlan {
  const hot = turns.filter(({ isCold }) => !isCold)
  const hotBytes = hot.reduce((sum, { bytes }) => sum + bytes, 0)
  return { byAge: [], bySize: [], back: [], cold: turns.length - hot.length, hotBytes }
}

function decayOf(turns: readonly KnownTurn[], now: number): CycleReport["decay"] {
  return {
    used: turns.filter(({ uses }) => uses.length > 0).length,
    meanConfidence: confidences(turns, now).mean,
    mayGo: turns.filter((one) => mayGo(one, now)).length,
  }
}

type Embedded = { readonly plan: TierPlan } | Pick<CycleOptions, "onProgress">

async function embedded(
  db: Database,
  paths: PathsAndPolicy,
  config: Config,
  how: Embedded,
): Promise<CycleReport["embedding"]> {
  const enabled = config["search.meaning"] === "auto"
  const before = standingOf(db, paths.dataHome)
  const due = before.turns - before.embedded
  if ("plan" in how || !enabled) {
    // Turns that leave the index need no vectors, and those that come back do.
    const moved = "plan" in how ? how.plan.back.length - how.plan.byAge.length - how.plan.bySize.length : 0
    return { enabled, embedder: before.embedder, embedded: enabled ? Math.max(0, due + moved) : 0, left: due }
  }
  const embedding = new Embedding(paths, () => false)
  for (;;) {
    const { embedded: done, turns } = standingOf(db, paths.dataHome)
    how.onProgress("embedding", done, turns)
    if (!(await embedding.step(db))) break
  }
  const after = standingOf(db, paths.dataHome)
  const left = after.turns - after.embedded
  return { enabled, embedder: after.embedder, embedded: Math.max(0, due - left), left }
}

/** Once the views are closed: nobody who wants them waits for the network. */
async function synced(paths: PathsAndPolicy, config: Config, dryRun: boolean): Promise<CycleReport["sync"]> {
  const auto = config["sync.auto"]
  const nothing = { auto, target: null, stored: null, failure: null }
  if (auto === "off") return nothing
  const [target] = backgroundTargets(paths, config)
  if (target === undefined) return nothing
  if (dryRun) return { ...nothing, target: target.shown }
  const done = await syncInBackground(paths, config, () => false)
  const failure = readAutoSync(paths.dataHome).failure?.message ?? null
  return { auto, target: target.shown, stored: done?.report.stored ?? null, failure }
}
