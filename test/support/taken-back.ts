/** Sessions whose user takes turns back. */
import type { Archive } from "./archive.ts"
import type { Transcript } from "./transcript.ts"

export const SESSION = "5e551011-0000-4000-8000-000000000001"

export const PLAN = (...contents: string[]) => ({
  tool: "TodoWrite",
  input: { todos: contents.map((content) => ({ content, status: "pending", activeForm: content })) },
  output: "ok",
})

/** Prompts of turns, in their order, those that were taken back in brackets. */
export const told = (archive: Archive): string[] =>
  archive.db
    .query<{ prompt: string; takenBack: number }, []>(
      "SELECT prompt, taken_back AS takenBack FROM turns ORDER BY id",
    )
    .all()
    .map(({ prompt, takenBack }) => (takenBack === 1 ? `[${prompt}]` : prompt))

/** A session of one turn, and where it ended. */
export function begun(archive: Archive): { session: Transcript; first: string } {
  const session = archive.session(SESSION).turn("one")
  return { session, first: session.tip! }
}
