/** `ctxbridge resurrect`: writes sessions back that their agent has lost, so that it can resume them. */

import { UNMARKED } from "../../agents/agents.ts"
import { EXIT, usageError } from "../../base/errors.ts"
import { resolve } from "../../base/path.ts"
import { bytes } from "../../base/text.ts"
import { stringArg, words } from "../args.ts"
import { type Command, flag, option } from "../command.ts"
import type { PutFile, Resume, Resurrected } from "../pages/put-back-transcript.ts"
import { resurrect, sessionsInVault } from "../pages/resurrect-sessions.ts"
import { repositoryOf, resumeLine, versionLines } from "../resume-line.ts"
import { idsMeant } from "../sessions-wanted.ts"
import { createStyle, type Style, safe } from "../style.ts"

export default {
  meta: { name: "resurrect", description: "Bring back deleted sessions for `claude --resume`, or Codex" },
  args: {
    session: {
      type: "positional",
      required: true,
      rest: true,
      names: "session",
      description: "Session ids, or handles of their turns",
      valueHint: "SESSION…",
    },
    to: option("Write below this folder instead of where they were", "DIR"),
    all: flag("Include all versions of rewritten and moved transcripts; needs --to"),
    force: flag("Set aside a file that differs from the vault's"),
    "dry-run": flag("Show what would be written; write nothing"),
  },
  run({ args, env, out }) {
    const to = stringArg(args, "to")
    const all = args["all"] === true
    if (all && to === undefined) {
      throw usageError("--all needs --to", "Claude Code would show former versions as separate sessions")
    }
    const dryRun = args["dry-run"] === true
    const ids = sessionsInVault(env.dataHome, idsMeant(env.dataHome, words(args)))
    const sessions = resurrect(ids, {
      ...env,
      to: to === undefined ? undefined : resolve(env.cwd, to),
      all,
      force: args["force"] === true,
      dryRun,
      folderOf: repositoryOf(env.dataHome),
      onProgress: (done, total) => out.progress("writing", done, total, "bytes"),
    })
    const ok = sessions.every(({ files }) => files.every(isDone))
    out.print(renderResurrected(sessions, dryRun, createStyle(out.color)))
    out.json({ ok, dryRun, sessions: sessions.map(withCommands) })
    return ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

const isDone = ({ state }: Resurrected["files"][number]): boolean => state !== "failed" && state !== "differs"

const withCommands = (one: Resurrected) => ({
  ...one,
  resume: one.resume.map((resume) => ({ ...resume, command: resumeLine(one, resume) })),
})

type State = PutFile["state"]

const DONE: Readonly<Record<State, string>> = {
  written: "written",
  completed: "completed: only its beginning was there",
  present: "already there",
  longer: "already there, and grown since; `ctxbridge import` archives the rest",
  differs: "left alone: another file is there; --force sets it aside",
  replaced: "written; the file that was there is kept as",
  failed: "failed",
}

const PLANNED: Partial<Readonly<Record<State, string>>> = {
  written: "would be written",
  completed: "would be completed: only its beginning is there",
  replaced: "would be written; the file that is there would be set aside",
}

function renderResurrected(sessions: readonly Resurrected[], dryRun: boolean, style: Style): string[] {
  return sessions.flatMap((one, n) => [...(n > 0 ? [""] : []), ...sessionLines(one, dryRun, style)])
}

function sessionLines(one: Resurrected, dryRun: boolean, style: Style): string[] {
  const lines = [style.bold(safe(one.session)), ...one.files.map((file) => fileLine(file, dryRun, style))]
  lines.push(...versionLines(one.session, one.others).map((line) => style.dim(`  ${safe(line)}`)))
  if (one.unstartable !== undefined) lines.push("", `It cannot be resumed: ${safe(one.unstartable)}.`)
  if (one.resume.length > 0) {
    lines.push("", ...one.resume.flatMap((resume) => resumeLines(one, resume)))
  }
  return lines
}

function fileLine(
  { path, state, bytes: size, aside, error }: PutFile,
  dryRun: boolean,
  style: Style,
): string {
  const told = (dryRun ? PLANNED[state] : undefined) ?? DONE[state]
  const rest = aside ?? error
  const text = `${told}${rest === undefined ? "" : `${state === "failed" ? ":" : ""} ${rest}`}`
  const bad = state === "failed" || state === "differs"
  return `  ${safe(path)}  ${style.dim(bytes(size))}  ${bad ? style.red(safe(text)) : safe(text)}`
}

function resumeLines(one: Resurrected, resume: Resume): string[] {
  const line = safe(resumeLine(one, resume))
  if (!resume.gone) return [line]
  const why = one.program === UNMARKED ? ", and Claude Code looks for the session only there" : ""
  return [line, `  (create that folder first: it is gone${why})`]
}
