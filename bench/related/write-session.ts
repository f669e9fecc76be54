/** Writes transcripts that contain only prompts and answers. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { FakeTranscript } from "../../src/claude/fake/transcript.ts"
import type { Said } from "./sessions.ts"

const DAY = 86_400_000
const START = Date.UTC(2026, 2, 2, 8)

/** @param n number of the session; each is a day later */
export function writeSession(path: string, id: string, cwd: string, turns: readonly Said[], n: number): void {
  const session = { session: id, cwd, version: "2.1.112", start: START + n * DAY }
  const transcript = new FakeTranscript(session)
  for (const { prompt, answer } of turns) transcript.turn(prompt, [], answer)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, transcript.text)
}
