/** What is rebuilt from a transcript is what the client has sent: words, thoughts, calls and results, in the same places. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { sentPassages } from "../../src/prune/sent-passages.ts"
import { clearStages, openStage } from "./checks.ts"
import { clientFor } from "./clients.ts"
import { runPrint } from "./drive.ts"
import { type Block, bash, type Message, type Recorded, say } from "./mock-api.ts"

setDefaultTimeout(240_000)
afterAll(clearStages)

/** What the client puts around a conversation is not in its transcript. */
const isOwn = (block: Block): boolean =>
  block.type === "text" && /^\s*<(?:system-reminder|local-command|command-)/.test(block.text ?? "")

const REMINDER = /<system-reminder>[\s\S]*?<\/system-reminder>/g

const nameOf = (block: Block): string => {
  const { type, text, thinking, id, tool_use_id, content } = block
  const output =
    typeof content === "string" ? content : (content as Block[] | undefined)?.map((one) => one.text).join()
  // Some versions put a reminder into what a tool returned.
  const told = String(text ?? thinking ?? id ?? `${tool_use_id} ${output}`)
  return `${type}: ${told.replace(REMINDER, "").trim()}`
}

/** The conversation in short. Messages of one role in a row are one to the API. */
function short(messages: readonly Message[]): string[] {
  const told: { role: string; blocks: string[] }[] = []
  for (const { role, content } of messages) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content
    const names = blocks.filter((block) => !isOwn(block)).map(nameOf)
    if (role === "system" || names.length === 0) continue
    const last = told.at(-1)
    if (last?.role === role) last.blocks.push(...names)
    else told.push({ role, blocks: names })
  }
  return told.map(({ role, blocks }) => `${role} ${blocks.join(" | ")}`)
}

for (const version of ["2.0.76", "2.1.112", "latest"]) {
  const { client, missing } = await clientFor(version)
  describe.skipIf(missing !== undefined)(`Claude Code ${client.version}`, () => {
    test("every request of a conversation that is compacted", async () => {
      const { world, mock } = openStage(client)
      mock.plan("Build the kiln", [bash("echo one"), bash("echo two"), say("The kiln is built.")])
      mock.plan("Paint the door", [bash("echo red"), say("The door is red.")])
      mock.plan("Open the window", [say("The window is open.")])
      const { sessionId } = await runPrint(world, [
        "Build the kiln",
        "Paint the door",
        "/compact",
        "Open the window",
      ])
      const folder = join(world.home, ".claude", "projects", world.cwd.replaceAll(/[^a-zA-Z0-9]/g, "-"))
      const lines = readFileSync(join(folder, `${sessionId}.jsonl`), "utf8")
        .trim()
        .split("\n")
      const passages = sentPassages(lines)
      expect(passages.map(({ begins, requests }) => [begins, requests.length])).toEqual([
        ["start", 5],
        ["compaction", 1],
      ])
      const rebuilt = passages.flatMap(({ messages, requests }) =>
        requests.map((request) => short(messages.slice(0, request.messages) as unknown as Message[])),
      )
      const sent = mock.requests.filter(({ kind }: Recorded) => kind === "main")
      expect(rebuilt).toEqual(sent.map(({ body }) => short(body.messages ?? [])))
    })
  })
}
