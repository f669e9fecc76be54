/** Shows people what `resurrect` did. Pure. */
import type { PutFile, Resume, Resurrected } from "../export/resurrect-sessions.ts"
import { shellWord } from "../util/shell-quote.ts"
import { bytes } from "../util/text.ts"
import { type Style, safe } from "./style.ts"

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

export function renderResurrected(sessions: readonly Resurrected[], dryRun: boolean, style: Style): string[] {
  return sessions.flatMap((one, n) => [...(n > 0 ? [""] : []), ...sessionLines(one, dryRun, style)])
}

function sessionLines(one: Resurrected, dryRun: boolean, style: Style): string[] {
  const lines = [style.bold(safe(one.session)), ...one.files.map((file) => fileLine(file, dryRun, style))]
  if (one.resume.length > 0) {
    lines.push("", ...one.resume.flatMap((resume) => resumeLines(one.session, resume)))
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

function resumeLines(session: string, resume: Resume): string[] {
  const line = safe(resumeLine(session, resume))
  if (!resume.gone) return [line]
  return [
    line,
    "  (make that folder again first: it is gone, and Claude Code looks for the session only there)",
  ]
}

/** The command that resumes the session. */
export function resumeLine(session: string, { folder, configDir }: Resume): string {
  const variable = configDir === undefined ? "" : `CLAUDE_CONFIG_DIR=${shellWord(configDir)} `
  const start = folder === undefined ? "" : `cd ${shellWord(folder)} && `
  return `${start}${variable}claude --resume ${shellWord(session)}`
}
