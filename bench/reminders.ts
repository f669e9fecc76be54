/**
 * How often a reminder before an action (`recall.actions`) would have been right, over real sessions:
 * `bun bench/reminders.ts DIR…`, with the options that all commands have. Each session is replayed in its order; what the
 * hook would know is what the sessions before it did, and what the session itself did before its last compaction.
 */
import { mkdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { CtxError, EXIT } from "../src/base/errors.ts"
import { hashName } from "../src/base/json-files.ts"
import { temporaryFolder, untilHeard } from "../src/base/temporary.ts"
import { positive, words } from "../src/cli/args.ts"
import { renderTable } from "../src/cli/block.ts"
import type { Command } from "../src/cli/command.ts"
import { runCli } from "../src/cli/router.ts"
import { createStyle } from "../src/cli/style.ts"
import { transcriptsBelow } from "../src/job/find-transcripts.ts"
import { importTranscripts } from "../src/job/import-transcripts.ts"
import { causeOf, FailedBefore, outcomeOf, type PastAction } from "../src/restore/failed-before.ts"
import { FILTERED } from "../src/secrets/filter.ts"
import type { Database } from "../src/views/database.ts"
import { open } from "../src/views/open.ts"
import { actionsIn } from "../src/views/queries/calls.ts"

const NAME = "bench/reminders.ts"
/** More than any project has. */
const ALL = 1_000_000

interface Tally {
  projects: number
  sessions: number
  actions: number
  failures: number
  /** Failures with a cause that the same action had before, in the project. */
  repeats: number
  /** Of these, those whose former failure is in the context no more. */
  outOfSight: number
  spoken: number
  /** It failed again, and in the same way. */
  right: number
  /** It failed in another way. */
  otherwise: number
  /** It succeeded. */
  wrong: number
  /** Reminders that name what helped, and how many of these were right. */
  helpful: number
  helpfulRight: number
  characters: number
  byKind: Record<string, [spoken: number, right: number]>
}

const none = (): Tally => ({
  projects: 0,
  sessions: 0,
  actions: 0,
  failures: 0,
  repeats: 0,
  outOfSight: 0,
  spoken: 0,
  right: 0,
  otherwise: 0,
  wrong: 0,
  helpful: 0,
  helpfulRight: 0,
  characters: 0,
  byKind: {},
})

/** The outcome that counts, and its cause. */
function endOf(action: PastAction) {
  const outcome = outcomeOf(action)
  return { outcome, cause: outcome === "refused" ? outcome : causeOf(action) }
}

interface Replay {
  /**
   * As if nothing stayed in the context: a reminder may come at each call, which tells how often the rules are right over
   * more cases than there are compactions and sessions.
   */
  readonly forgets: boolean
  /** Failures after which something is said; undefined: as it is. */
  readonly fewest: number | undefined
}

function replay(db: Database, projects: readonly string[], tally: Tally, { forgets, fewest }: Replay): void {
  const actions = projects
    .flatMap((project) => actionsIn(db, project, ALL))
    .toSorted((a, b) => (a.time ?? "").localeCompare(b.time ?? ""))
  const sessions = Map.groupBy(actions, ({ session }) => session.split("/", 1)[0]!)
  if (sessions.size === 0) return
  tally.projects++
  const known = new FailedBefore(projects[0]!, fewest)
  const causes = new Map<string, string>()
  for (const [session, own] of sessions) {
    tally.sessions++
    const cuts = forgets ? [] : compactionsOf(db, session)
    const said = new Set<string>()
    const inSight = new Map<string, string>()
    let waiting: PastAction[] = []
    let due = known.due()
    let texts = known.reminders()
    const takeIn = (): void => {
      for (const one of waiting) known.add(one)
      waiting = []
      due = known.due()
      texts = known.reminders()
    }
    for (const action of own) {
      const cut = cuts.findLastIndex((time) => time <= (action.time ?? ""))
      if (cut >= 0) {
        cuts.splice(0, cut + 1)
        inSight.clear()
        takeIn()
      }
      if (forgets) takeIn()
      tally.actions++
      waiting.push(action)
      const names = known.namesOf(action)
      if (names === undefined) continue
      const { outcome, cause } = endOf(action)
      const isBad = outcome === "failed" || outcome === "refused"
      if (isBad) {
        tally.failures++
        if (cause !== undefined && causes.get(names.whole) === cause) {
          tally.repeats++
          if (inSight.get(names.whole) !== cause) tally.outOfSight++
        }
        causes.set(names.whole, cause ?? "")
        inSight.set(names.whole, cause ?? "")
      }
      const name = [names.whole, ...names.programs].find((one) => due.has(one))
      if (name === undefined || said.has(name)) continue
      if (!forgets) said.add(name)
      const trouble = due.get(name)!
      const text = texts.get(name)!.text
      const isRight =
        isBad && (trouble.kind === "program" ? /not found/.test(action.error ?? "") : cause === trouble.cause)
      const isHelpful = text.includes("succeeded")
      tally.spoken++
      tally.characters += text.length
      if (isRight) tally.right++
      else if (isBad) tally.otherwise++
      else if (outcome === "passed") tally.wrong++
      if (isHelpful) tally.helpful++
      if (isHelpful && isRight) tally.helpfulRight++
      const [spoken, right] = tally.byKind[trouble.kind] ?? [0, 0]
      tally.byKind[trouble.kind] = [spoken + 1, right + (isRight ? 1 : 0)]
    }
    takeIn()
  }
}

const compactionsOf = (db: Database, session: string): string[] =>
  db
    .query<{ time: string }, [string]>(
      "SELECT time FROM boundaries WHERE session = ? AND time IS NOT NULL ORDER BY offset",
    )
    .all(session)
    .map(({ time }) => time)

/** A project's folder, or that of which it is a worktree: the worktrees of others' machines are not here to tell. */
const joined = (project: string): string => project.replace(/\/\.?worktrees\/.*$/, "")

/** Rules were chosen on the projects of the first half; the other's figures are the ones to quote. */
function replayed(db: Database, how: Replay): Halves {
  const halves = { tuned: none(), heldOut: none() }
  const projects = db.query<{ path: string }, []>("SELECT path FROM projects ORDER BY path").all()
  for (const [name, own] of Map.groupBy(projects, ({ path }) => joined(path))) {
    const isTuned = /[02468ace]$/.test(hashName(name))
    const paths = own.map(({ path }) => path)
    replay(db, paths, isTuned ? halves.tuned : halves.heldOut, how)
  }
  return halves
}

interface Halves {
  readonly tuned: Tally
  readonly heldOut: Tally
}

function rowsOf({ tuned, heldOut }: Halves): string[][] {
  const row = (what: string, of: (tally: Tally) => number | string): string[] => [
    what,
    String(of(tuned)),
    String(of(heldOut)),
  ]
  const kinds = [...new Set([...Object.keys(tuned.byKind), ...Object.keys(heldOut.byKind)])].sort()
  return [
    row("projects", ({ projects }) => projects),
    row("sessions", ({ sessions }) => sessions),
    row("commands and edits", ({ actions }) => actions),
    row("of them failed or were refused", ({ failures }) => failures),
    row("as the last time", ({ repeats }) => repeats),
    row("which the context no longer showed", ({ outOfSight }) => outOfSight),
    row("reminders", ({ spoken }) => spoken),
    row("it failed again, likewise: right", ({ right }) => right),
    row("it failed otherwise", ({ otherwise }) => otherwise),
    row("it succeeded: wrong", ({ wrong }) => wrong),
    row("that name what helped, of them right", (one) => `${one.helpful}, ${one.helpfulRight}`),
    row("tokens (characters / 3.5)", ({ characters }) => Math.round(characters / 3.5)),
    ...kinds.map((kind) =>
      row(`${kind}: right`, ({ byKind }) => `${byKind[kind]?.[1] ?? 0} of ${byKind[kind]?.[0] ?? 0}`),
    ),
  ]
}

const command: Command = {
  meta: { name: NAME, description: "How often a reminder before an action would have been right" },
  args: {
    fewest: { type: "string", description: "After how many failures something is said", valueHint: "N" },
    folders: { type: "positional", rest: true, description: "Folders with transcripts", valueHint: "DIR" },
  },
  async run({ args, out, env }) {
    const folders = words(args).map((one) => resolve(env.cwd, one))
    const fewest = positive(args, "fewest")
    const found = folders.flatMap((folder) => transcriptsBelow(folder))
    if (found.length === 0)
      throw new CtxError("no-data", "no transcripts to replay", {
        exit: EXIT.notFound,
        hint: `bun ${NAME} DIR takes real ones; none come with it`,
      })
    using work = temporaryFolder("reminders")
    const dataHome = join(work.path, "archive")
    mkdirSync(dataHome)
    await untilHeard()
    const place = {
      dataHome,
      home: work.path,
      stateHome: join(work.path, "state"),
      secrets: FILTERED,
      exclude: [],
    }
    importTranscripts(place, found, { dryRun: false, check: false })
    const db = open(dataHome, "look", 0)
    try {
      const told = {
        asItIs: replayed(db, { forgets: false, fewest }),
        asIfForgotten: replayed(db, { forgets: true, fewest }),
      }
      const right = (title: string) => ({ title, align: "right" as const })
      const style = createStyle(out.color)
      for (const [title, halves] of [
        ["as the hook would speak", told.asItIs],
        ["as if nothing stayed in sight", told.asIfForgotten],
      ] as const) {
        const head = [{ title }, right("tuned on"), right("held out")]
        out.print([...renderTable(head, rowsOf(halves), out.columns, style), ""])
      }
      out.json(told)
    } finally {
      db.close()
    }
  },
}

await runCli([NAME, ...process.argv.slice(2)], command)
