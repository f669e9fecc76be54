/** `ctxbridge undo`: every state of a file that sessions are known to have made, and one of them put back. */

import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import {
  encode,
  expectUnchanged,
  expectWritable,
  makeFolders,
  replaceFile,
  targetOf,
} from "../../base/edited-file.ts"
import { CtxError, EXIT, messageOf, usageError } from "../../base/errors.ts"
import { flush, statsOf, tryTo } from "../../base/files.ts"
import { realpathSync } from "../../base/fs.ts"
import { hashName } from "../../base/json-files.ts"
import { DAY } from "../../base/local-time.ts"
import { basename, dirname, join, resolve } from "../../base/path.ts"
import { count } from "../../base/text.ts"
import { fileStates, type ProvenState } from "../../find/file-states.ts"
import { linesNamed } from "../../find/line-question.ts"
import { startRenewing } from "../../job/spawn.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { textDiff } from "../../views/edit-diff.ts"
import { openCurrent } from "../../views/open-current.ts"
import { diffLine } from "../answer-line.ts"
import { positive, words } from "../args.ts"
import { renderTable, wholePath } from "../block.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { confirmed, YES_ARG } from "../confirm.ts"
import { ago, type Screen, screenOf, timeArg, wrapped } from "../screen.ts"
import { pathShower } from "../shown-path.ts"
import { fit } from "../style.ts"

/** Bytes. */
const LARGEST = 32 << 20
/** Instead of a state's number. */
const BEFORE = "before"
/** ms for which what was replaced is kept. */
const KEPT = 30 * DAY

export default {
  meta: { name: "undo", description: "List the states of a file that sessions made, and put one back" },
  args: {
    path: {
      type: "positional",
      required: true,
      rest: true,
      description:
        "The file, also one that was deleted; FILE:LINE for the states in which that line came or went",
      valueHint: "PATH",
      example: "src/config.ts",
    },
    diff: {
      ...option(
        "Show what putting back this state would change; without N, the one before that which the file is in",
        "N",
      ),
      bare: BEFORE,
    },
    to: option("Put this state back; what is there now is kept", "N"),
    "dry-run": flag("With --to: show what would change, and write nothing"),
    since: option("States from this date or age on (2026-03-02, 7d)", "WHEN"),
    limit: option("At most this many states, the latest", "N", "n"),
    force: flag("Put it back even if secrets in it were replaced by * before it was archived"),
    ...YES_ARG,
  },
  run(context) {
    const { args, env, out } = context
    const to = positive(args, "to")
    const isBefore = args["diff"] === BEFORE
    const numbered = isBefore ? undefined : positive(args, "diff")
    if (to !== undefined && args["diff"] !== undefined)
      throw usageError("--to and --diff cannot be used together")
    if (args["dry-run"] === true && to === undefined)
      throw usageError("--dry-run needs --to", "such as --to 2 --dry-run; --diff 2 shows what would change")
    const typed = words(args).join(" ").trim()
    if (typed === "") throw usageError("undo needs a file", "such as ctxbridge undo src/main.ts")
    const whole = resolve(env.cwd, typed)
    const line = statsOf(whole) === undefined ? linesNamed(typed) : undefined
    const path = line === undefined ? whole : resolve(env.cwd, line.file)
    using db = openCurrent(env.dataHome, "command", startRenewing)
    using readers = new CopyReaders()
    const known = fileStates(db, env.dataHome, readers, path)
    // Sessions may know it by another name of its folder.
    const real = known.length === 0 ? tryTo(() => realpathSync(path)) : undefined
    const states = real === undefined ? known : fileStates(db, env.dataHome, readers, real)
    if (states.length === 0) {
      throw new CtxError("not-found", `no session is known to have read, written or edited ${typed}`, {
        hint: `ctxbridge files ${basename(path)} finds files of that name; what commands and editors changed is not known`,
        exit: EXIT.notFound,
      })
    }
    const file: OnDisk = { path, shown: pathShower(context)(path), now: presentText(path) }
    if (to !== undefined) return putBack(context, file, states, to)
    const diff = isBefore ? numberBefore(states, file.now) : numbered
    if (diff !== undefined) {
      const { content } = stateNumbered(states, diff)
      const lines = changes(file, content)
      if (isBefore) out.print(`Putting back state ${diff}:`)
      out.print(lines.length === 0 ? "Nothing would change" : diffLines(lines, screenOf(out)))
      out.json({ path, state: diff, diff: lines })
      return EXIT.ok
    }
    const listed = states.map((state, n) => ({ state, n: n + 1 }))
    const about = line === undefined ? listed : listed.filter(({ n }) => isAbout(states, n, file, line))
    const since = timeArg(args, "since", Date.now())
    const recent = since === undefined ? about : about.filter(({ state }) => (state.time ?? "") >= since)
    const shown = recent.slice(-(positive(args, "limit") ?? recent.length))
    if (shown.length === 0 && about.length > 0)
      throw new CtxError("not-found", `no session is known to have changed ${typed} since then`, {
        exit: EXIT.notFound,
      })
    out.print(render(file, shown, states, screenOf(out)))
    const at = stateNow(states, file.now)
    out.json({
      path,
      now: file.now === undefined ? "absent" : at === undefined ? "changed" : "archived",
      state: at ?? null,
      states: shown.map(({ state: { by, content, time, added = null, removed = null }, n }) => ({
        state: n,
        time,
        added,
        removed,
        whole: content !== undefined,
        ...(by === undefined ? { handle: null } : by),
      })),
    })
    return EXIT.ok
  },
} satisfies Command

interface OnDisk {
  /** Absolute. */
  readonly path: string
  readonly shown: string
  /** Undefined: it is not there. */
  readonly now: string | undefined
}

/** As Claude Code shows a file: with plain newlines, and without the mark at its beginning. It writes what there was. */
const plain = (text: string): string => text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n")

/** A state with the mark and the newlines of the file that it replaces; a file of both kinds of newlines gets plain ones. */
function asThere(content: string, now: string | undefined): string {
  const isWindows = now !== undefined && /\r\n/.test(now) && !/(?<!\r)\n/.test(now)
  const mark = now?.startsWith("\uFEFF") === true ? "\uFEFF" : ""
  return mark + (isWindows ? plain(content).replaceAll("\n", "\r\n") : plain(content))
}

/** @throws CtxError if it is no text */
function presentText(path: string): string | undefined {
  const stats = statsOf(path)
  if (stats === undefined) return undefined
  if (!stats.isFile() || stats.size > LARGEST)
    throw usageError(`${path} is not a file of at most ${LARGEST >> 20} MB`)
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path))
  } catch (cause) {
    throw new CtxError("not-text", `${path} cannot be read as text: ${messageOf(cause)}`, { cause })
  }
}

/** @throws CtxError exit 64, or where the archive lacks a part of it */
function stateNumbered(
  states: readonly ProvenState[],
  n: number,
): ProvenState & { readonly content: string } {
  const state = states[n - 1]
  if (state === undefined) throw usageError(`there is no state ${n}`, `the archive has 1 to ${states.length}`)
  const { content, by } = state
  if (content === undefined) {
    throw new CtxError("state-unknown", `of state ${n}, the archive has the change but not the whole file`, {
      ...(by && { hint: `ctxbridge show ${by.handle} shows the change` }),
      exit: EXIT.notFound,
    })
  }
  return { ...state, content }
}

/** Number of the last state that the file is in. */
function stateNow(states: readonly ProvenState[], now: string | undefined): number | undefined {
  const at =
    now === undefined
      ? -1
      : states.findLastIndex(({ content }) => content !== undefined && plain(content) === plain(now))
  return at < 0 ? undefined : at + 1
}

/** The last whole one before that which the file is in, or before the last if it is in none. */
function numberBefore(states: readonly ProvenState[], now: string | undefined): number {
  const at = stateNow(states, now) ?? states.length
  const before = states.slice(0, at - 1).findLastIndex(({ content }) => content !== undefined) + 1
  if (before === 0) throw usageError(`no whole state before state ${at} is known`, "--diff N names another")
  return before
}

const changes = ({ now }: OnDisk, content: string) => textDiff(plain(now ?? ""), plain(content)).flat()

/** Whether one of the lines that the file has there now came or went with the state, as far as that is known. */
function isAbout(
  states: readonly ProvenState[],
  n: number,
  { now }: OnDisk,
  { from, to }: { readonly from: number; readonly to: number },
): boolean {
  const lines = plain(now ?? "").split("\n")
  if (now === undefined) throw usageError("the file is not there, so it has no lines", "leave out the line")
  if (from < 1 || to < from || to > lines.length) throw usageError(`the file has no line ${to}`)
  const { content } = states[n - 1]!
  const before = states.slice(0, n - 1).findLast((state) => state.content !== undefined)
  if (content === undefined) return false
  const [is, was] = [content, before?.content ?? ""].map((text) => new Set(text.split("\n"))) as [
    Set<string>,
    Set<string>,
  ]
  return lines.slice(from - 1, to).some((line) => is.has(line) !== was.has(line))
}

function render(
  { shown: path, now }: OnDisk,
  shown: readonly { readonly state: ProvenState; readonly n: number }[],
  states: readonly ProvenState[],
  screen: Screen,
): string[] {
  const { style, columns } = screen
  const sign = (mark: string, lines: number | undefined): string => (lines === undefined ? "?" : mark + lines)
  const rows = shown.map(({ state: { time, by, added, removed, content }, n }) => [
    content === undefined ? "" : String(n),
    ago(time, screen.now),
    sign("+", added),
    sign("−", removed),
    by?.handle ?? "",
    by === undefined ? "found so by a session" : `${by.takenBack ? "rewound: " : ""}${by.prompt}`,
  ])
  const head = [
    { title: "state", align: "right" },
    { title: "when" },
    { title: "+", align: "right" },
    { title: "−", align: "right" },
    { title: "turn", optional: true },
    { title: "prompt", flexible: true },
  ] as const
  const at = stateNow(states, now)
  const last = states.findLastIndex(({ content }) => content !== undefined) + 1
  const unknown = states.filter(({ content }) => content === undefined).length
  const ends = [
    now === undefined
      ? `The file is not there now.${last === 0 ? "" : last === states.length ? ` --to ${last} puts it back.` : ` --to ${last} puts back the last state that is known as a whole; it was changed after that.`}`
      : at === undefined
        ? "The file is in none of these states now: what changed it last, the archive does not have."
        : `The file is in state ${at} now.`,
    ...(unknown === 0
      ? []
      : [`Of ${count(unknown, "change")}, the archive does not have all of the file; those have no number.`]),
  ]
  return [
    style.bold(`${wholePath(path)}: ${count(states.length, "state")}`),
    ...(rows.length === 0
      ? ["No state is known in which that line came or went."]
      : renderTable(head, rows, columns, style)),
    ...ends.flatMap((text) => wrapped(text, columns)).map(style.dim),
  ]
}

function putBack(context: Context, file: OnDisk, states: readonly ProvenState[], n: number): number {
  const { args, env, out } = context
  const { path, shown, now } = file
  const { content, time } = stateNumbered(states, n)
  const screen = screenOf(out)
  const filled = linesMaybeFilled(content, now === undefined ? undefined : plain(now))
  const lines = changes(file, content)
  const done = { path, state: n, added: countOf(lines, "+"), removed: countOf(lines, "-") }
  const isThere = now !== undefined && plain(now) === plain(content)
  const isDry = args["dry-run"] === true
  if (isThere) {
    out.print(`${shown} is in state ${n} already`)
    out.json({ ...done, dryRun: isDry, changed: false, kept: null })
    return EXIT.ok
  }
  if (filled.length > 0 && args["force"] !== true && !isDry) {
    throw new CtxError(
      "maybe-filled",
      `line ${filled[0]} of state ${n} may have had a secret, which the archive does not keep`,
      { hint: `ctxbridge undo ${shown} --diff ${n} shows it; --force writes the * in its place` },
    )
  }
  if (isDry) {
    out.print(diffLines(lines, screen))
    out.json({ ...done, dryRun: true, changed: true, kept: null })
    return EXIT.ok
  }
  const size = `+${done.added} −${done.removed}`
  const target = targetOf(path)
  const names = tryTo(() => statSync(target).nlink) ?? 1
  const linked = names > 1 ? `, under all of its ${names} names` : ""
  const question = `Put ${shown} back to how it was ${ago(time, screen.now)} (${size} lines)${linked}?`
  if (!confirmed(context, fit(question, 300), "this replaces the file")) return EXIT.failed
  expectWritable(target)
  const kept = now === undefined ? undefined : keep(path, env.dataHome)
  write(target, asThere(content, now), now, names)
  out.print(`${shown} is in state ${n} (${size})${linked}`)
  if (kept !== undefined) out.print(`What was there: ${wholePath(kept)}`)
  out.json({ ...done, dryRun: false, changed: true, kept: kept ?? null })
  return EXIT.ok
}

const diffLines = (lines: ReturnType<typeof changes>, screen: Screen): string[] =>
  blanksShown(lines).map((line) => diffLine(line, screen))

/** Lines that differ from those on the other side in nothing but blanks, with signs for these: else they look the same. */
function blanksShown(lines: ReturnType<typeof changes>): ReturnType<typeof changes> {
  const words = ({ text }: (typeof lines)[number]): string => text.replace(/\s+/g, "")
  const [gone, come] = ["-", "+"].map((mark) => new Set(lines.filter((one) => one.mark === mark).map(words)))
  const isSame = (line: (typeof lines)[number]): boolean =>
    line.mark !== " " && gone!.has(words(line)) && come!.has(words(line))
  const signs = (blanks: string): string =>
    blanks.replaceAll(" ", "·").replaceAll("\t", "→").replaceAll("\r", "␍")
  return lines.map((line) =>
    isSame(line) ? { ...line, text: line.text.replace(/^\s+|\s+$|\s{2,}|[\t\r]/g, signs) } : line,
  )
}

const countOf = (lines: ReturnType<typeof changes>, mark: string): number =>
  lines.filter((one) => one.mark === mark).length

/** Copies what is there into the archive's folder, where it stays for a month. */
function keep(path: string, dataHome: string): string {
  const all = join(dataHome, "undone")
  const folder = join(all, `${Date.now()}-${hashName(path)}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(all))
    if (Date.now() - Number.parseInt(name, 10) > KEPT)
      rmSync(join(all, name), { recursive: true, force: true })
  const kept = join(folder, basename(path))
  copyFileSync(path, kept)
  chmodSync(kept, 0o600)
  flush(kept)
  flush(folder)
  return kept
}

/**
 * What is new may be read by others, as most files of projects.
 *
 * @param target its real path
 * @param before what was there when it was looked at
 * @param names how many the file has: what is put in its place has one, so the others would keep what was there
 */
function write(target: string, text: string, before: string | undefined, names: number): void {
  if (before !== undefined && names > 1) {
    expectUnchanged(target, encode(before))
    writeFileSync(target, encode(text))
    flush(target)
    return
  }
  for (const folder of makeFolders(dirname(target), 0o755)) chmodSync(folder, 0o755)
  replaceFile(target, encode(text), before === undefined ? null : encode(before))
  if (before === undefined) chmodSync(target, 0o644)
}

/* What a state must not be put back for. Pure. */

/** What the filter for secrets leaves: signs of the same number, four at least. */
const FILLED = /\*{4,}/

/**
 * Lines of a state in which a secret may have been filled before it was archived: the file has to say the same, or
 * nobody knows.
 *
 * @param now the file as it is; undefined: it is not there
 */
function linesMaybeFilled(content: string, now: string | undefined): number[] {
  const there = new Set(now?.split("\n"))
  return content.split("\n").flatMap((line, n) => (FILLED.test(line) && !there.has(line) ? [n + 1] : []))
}
