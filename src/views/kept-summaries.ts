/**
 * What a model wrote about sessions, kept where `rebuild` finds it: a line each in a copy of its own in the vault, one
 * copy per session. To everything that removes or fills (`forget`, `redact`), the copy is a part of the session,
 * named `<session>/summary` like a subagent.
 */

import { CtxError } from "../base/errors.ts"
import { join } from "../base/path.ts"
import type { Paths, Policy } from "../config/load.ts"
import { SUMMARY_TYPE, type SummaryLine } from "../record/model-summary.ts"
import { appendMade } from "../vault/append-made.ts"
import { summaryPath, vaultFile } from "../vault/layout.ts"
import { markPending } from "../vault/pending.ts"
import { forgottenOf } from "../vault/tombstones.ts"

/** How `forget` calls what was written about a session. */
export const summaryName = (session: string): string => `${session}/summary`

/**
 * No such file exists: the path says whose summary it is (agents/layouts.ts).
 */
const originOf = (dataHome: string, session: string): string =>
  join(dataHome, "summaries~", session, "subagents", "agent-summary.jsonl")

/** Whether the user wants nothing kept about the session. */
export const isSummaryForgotten = (dataHome: string, session: string): boolean =>
  forgottenOf(dataHome, summaryName(session), originOf(dataHome, session))?.whole === true

/**
 * Returns once the line is in the vault; the views follow.
 *
 * @throws CtxError `forgotten`, `busy`
 */
export function keepSummary(
  { dataHome, secrets }: Pick<Paths, "dataHome"> & Pick<Policy, "secrets">,
  line: Omit<SummaryLine, "type" | "uuid">,
): void {
  const { session } = line
  const path = originOf(dataHome, session)
  const copy = summaryPath(session)
  const name = summaryName(session)
  const wish = forgottenOf(dataHome, name, path)
  if (wish?.whole === true) {
    throw new CtxError("forgotten", `session ${session} is to have no summary: it was forgotten`, {
      hint: `ctxbridge forget --undo ${name} allows one`,
    })
  }
  const text = JSON.stringify({ type: SUMMARY_TYPE, uuid: crypto.randomUUID(), ...line })
  appendMade({
    copy: vaultFile(dataHome, copy),
    path,
    now: Date.parse(line.timestamp),
    dryRun: false,
    secrets,
    edit: (content) => wish?.edit(content, 0) ?? content,
    choose: () => [`${text}\n`],
    onBegin: () => markPending(dataHome, { path, copy, session: name }),
  })
}
