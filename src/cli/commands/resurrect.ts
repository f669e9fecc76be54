/** `ctxbridge resurrect`: writes sessions that the host has deleted back, so that it can resume them. */
import { resolve } from "node:path"
import { HANDLE_PREFIX } from "../../archive/handle-prefix.ts"
import { openForReading } from "../../archive/open-for-reading.ts"
import { type Resurrected, resurrect, sessionsInVault } from "../../export/resurrect-sessions.ts"
import { findByName } from "../../read/by-name.ts"
import { EXIT, usageError } from "../../util/errors.ts"
import { stringArg, words } from "../args.ts"
import type { Command } from "../command.ts"
import { renderResurrected, resumeLine } from "../render-resurrect.ts"
import { createStyle } from "../style.ts"

export default {
  meta: { name: "resurrect", description: "Write deleted sessions back to disk, for `claude --resume`" },
  args: {
    session: {
      type: "positional",
      required: true,
      rest: true,
      description: "Session ids, or handles of their turns",
      valueHint: "SESSION…",
    },
    to: {
      type: "string",
      description: "Write below this folder instead of where they were",
      valueHint: "DIR",
    },
    all: { type: "boolean", description: "Include former versions of rewritten transcripts; needs --to" },
    force: { type: "boolean", description: "Set aside a file that differs from the vault's" },
    "dry-run": { type: "boolean", description: "Show what would be written; write nothing" },
  },
  run({ args, env, out }) {
    const to = stringArg(args, "to")
    const all = args["all"] === true
    if (all && to === undefined) {
      throw usageError("--all needs --to", "the host would take former versions for sessions of their own")
    }
    const dryRun = args["dry-run"] === true
    const ids = sessionsInVault(env.dataHome, sessionsMeant(env.dataHome, words(args)))
    const sessions = resurrect(ids, {
      ...env,
      to: to === undefined ? undefined : resolve(env.cwd, to),
      all,
      force: args["force"] === true,
      dryRun,
      onProgress: (done, total) => out.progress("writing", done, total),
    })
    const ok = sessions.every(({ files }) => files.every(isDone))
    for (const line of renderResurrected(sessions, dryRun, createStyle(out.color))) out.print(line)
    out.json({ ok, dryRun, sessions: sessions.map(withCommands) })
    return ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

const isDone = ({ state }: Resurrected["files"][number]): boolean => state !== "failed" && state !== "differs"

const withCommands = (one: Resurrected) => ({
  ...one,
  resume: one.resume.map((resume) => ({ ...resume, command: resumeLine(one.session, resume) })),
})

/** Only the views know a handle's session, so they are opened only for handles. */
function sessionsMeant(dataHome: string, given: readonly string[]): string[] {
  return given.map((word) => {
    if (!word.startsWith(HANDLE_PREFIX)) return word.split("/")[0]!
    using db = openForReading(dataHome)
    const found = findByName(db, word)
    return (found.kind === "turn" ? found.turn.session : found.session.id).split("/")[0]!
  })
}
