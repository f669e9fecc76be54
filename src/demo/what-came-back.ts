/** Checks whether the demo's session really came back. */
import type { Database } from "../archive/database.ts"
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { findTurns } from "../archive/queries/turns.ts"
import { readTurn, turnOf } from "../read/turn.ts"
import { CopyReaders } from "../vault/reader.ts"
import { type DemoSession, FACTS } from "./demo-session.ts"

export interface Check {
  readonly name: string
  readonly ok: boolean
}

interface Seen {
  readonly db: Database
  readonly dataHome: string
  readonly session: DemoSession
  readonly instructions: string
  readonly restored: string
  readonly hooks: readonly { readonly exitCode: number; readonly stderr: string }[]
  readonly verified: boolean
  readonly turns: number
}

export function checks(seen: Seen): Check[] {
  const { session, instructions, restored, hooks } = seen
  const summary = session.compaction.summary
  const lost = Object.values(FACTS).filter((fact) => !summary.includes(fact))
  return [
    {
      name: "every hook exited 0 with nothing on stderr",
      ok: hooks.every((h) => h.exitCode === 0 && h.stderr === ""),
    },
    { name: `all ${session.turns.length} turns are archived`, ok: seen.turns === session.turns.length },
    { name: "every byte of the transcript is in the vault", ok: seen.verified },
    {
      name: "the compaction was asked to keep the user's constraint",
      ok: instructions.includes(FACTS.constraint),
    },
    { name: "the summary lost what is checked below", ok: lost.length === Object.keys(FACTS).length },
    { name: "restored: the prompt that the compaction swallowed", ok: restored.includes(session.pending) },
    { name: "restored: the user's constraint, word for word", ok: restored.includes(FACTS.constraint) },
    { name: "restored: the decision and why", ok: restored.includes(FACTS.decision) },
    { name: "restored: the open todo", ok: restored.includes(FACTS.todo) },
    { name: "restored: the file in progress", ok: restored.includes(FACTS.file) },
    {
      name: "restored: the failing command and its exit code",
      ok: hasLine(restored, [FACTS.failing, FACTS.error, "exit 1"]),
    },
    { name: "restored: the last good command", ok: restored.includes(FACTS.good) },
    { name: "a handle in it opens the whole turn", ok: opensTurn(seen) },
  ]
}

const hasLine = (text: string, words: readonly string[]): boolean =>
  text.split("\n").some((line) => words.every((word) => line.includes(word)))

/** Whether the failing command's handle leads to the tool's original output. */
function opensTurn({ restored, db, dataHome }: Seen): boolean {
  const line = restored.split("\n").find((one) => one.includes(FACTS.failing)) ?? ""
  const handle = new RegExp(`${HANDLE_PREFIX}([0-9a-z]+)`).exec(line)?.[1]
  const turn = handle === undefined ? undefined : findTurns(db, handle)[0]
  if (turn === undefined) return false
  using readers = new CopyReaders()
  const { messages } = readTurn(db, dataHome, turnOf(turn), readers)
  return messages.some(({ parts }) =>
    parts.some((p) => p.kind === "toolResult" && p.text.includes(FACTS.error)),
  )
}
