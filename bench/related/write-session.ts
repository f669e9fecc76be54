/** Writes transcripts that contain only prompts and answers, in the host's format. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import type { Said } from "./sessions.ts"

const DAY = 86_400_000
const START = Date.UTC(2026, 2, 2, 8)

/** @param n number of the session; each is a day later */
export function writeSession(path: string, id: string, cwd: string, turns: readonly Said[], n: number): void {
  let lines = 0
  let parent: string | null = null
  const line = (fields: object): string => {
    const uuid = `${id.slice(0, -12)}${String(++lines).padStart(12, "0")}`
    const common = {
      parentUuid: parent,
      isSidechain: false,
      userType: "external",
      cwd,
      sessionId: id,
      version: "2.1.112",
      gitBranch: "main",
      uuid,
      timestamp: new Date(START + n * DAY + lines * 1000).toISOString(),
    }
    parent = uuid
    return `${JSON.stringify({ ...common, ...fields })}\n`
  }
  const text = turns.map(({ prompt, answer }) => {
    const asked = line({ type: "user", message: { role: "user", content: prompt } })
    const message = {
      id: `msg_${id.replaceAll("-", "").slice(0, 12)}${lines}`,
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-6",
      content: [{ type: "text", text: answer }],
      usage: { input_tokens: 10, output_tokens: 20 },
    }
    return asked + line({ type: "assistant", message })
  })
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text.join(""))
}
