/**
 * What `prune plugin` takes to answer a compaction inside the newest client: `bun bench/compact-in-client.ts [--mb 10]
 * [--rounds 5]`. A session of this size is resumed and compacted on demand; measured are the binary's answer, as the
 * plugin waits for it, and the whole `/compact`, as the user does.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { parseArgs } from "node:util"
import { FakeTranscript } from "../src/claude/fake/transcript.ts"
import { clearStages, openStage } from "../test/host/checks.ts"
import { clientFor } from "../test/host/clients.ts"
import { runPrint } from "../test/host/drive.ts"

const { values } = parseArgs({
  options: { mb: { type: "string", default: "10" }, rounds: { type: "string", default: "5" } },
})
const SIZE = Number(values.mb) * 1e6
/** Bytes of a turn's tool output. */
const OUTPUT = 20_000
const SESSION = "5f0c8f8e-3d0e-4b1e-9f43-6f6f0a0b0c0d"

const { client, missing } = await clientFor("latest")
if (missing !== undefined) throw new Error(missing)
const answers: number[] = []
const wholes: number[] = []
let bytes = 0
for (let round = 0; round < Number(values.rounds); round++) {
  const { world, mock } = openStage(client, {}, [["prune", "plugin"]])
  const transcript = new FakeTranscript({ session: SESSION, cwd: world.cwd, version: client.version })
  let text = ""
  for (let n = 0; text.length < SIZE; n++) {
    const line = `line ${n} of src/area${n % 7}/file${n}.ts says ${n ** 3}\n`
    const output = line.repeat(OUTPUT / line.length)
    transcript.turn(`Read file ${n} and tell what it says`, [
      { tool: "Bash", input: { command: `cat src/area${n % 7}/file${n}.ts` }, output },
    ])
    text += transcript.take()
  }
  bytes = text.length
  const folder = world.cwd.replaceAll(/[^A-Za-z0-9]/g, "-")
  const path = join(world.home, ".claude", "projects", folder, `${SESSION}.jsonl`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  // Between the plugin and the binary, a script that notes when it was asked and when it had answered.
  const module = join(world.store, "plugin", "hooks", "compact.mjs")
  const times = join(world.root, "times")
  const timed = join(world.root, "timed")
  writeFileSync(
    timed,
    `#!/bin/sh\ndate +%s%N >> '${times}'\n'${world.binary}' "$@"\ncode=$?\ndate +%s%N >> '${times}'\nexit $code\n`,
    { mode: 0o755 },
  )
  writeFileSync(module, readFileSync(module, "utf8").replace(world.binary, timed))
  const start = performance.now()
  let asked = 0
  const run = await runPrint(
    world,
    [
      { text: "What is left?" },
      {
        text: "/compact",
        until: (outputs) => {
          asked ||= performance.now()
          const isOver = outputs.some((output) => output.type === "result")
          if (isOver) wholes.push(performance.now() - asked)
          return isOver
        },
      },
    ],
    ["--resume", SESSION],
  )
  const [began, ended] = readFileSync(times, "utf8").trim().split("\n").map(Number)
  answers.push((ended! - began!) / 1e6)
  const summaries = mock.requests.filter(({ kind }) => kind === "compact").length
  console.error(
    `round ${round}: exit ${run.code}, ${summaries} requests for a summary, ${(performance.now() - start).toFixed(0)} ms in all`,
  )
  clearStages()
}
const told = (ms: number[]): string => {
  const sorted = ms.toSorted((a, b) => a - b)
  return `minimum ${sorted[0]!.toFixed(0)}, median ${sorted[Math.floor(sorted.length / 2)]!.toFixed(0)}, maximum ${sorted.at(-1)!.toFixed(0)} ms`
}
console.log(`Claude Code ${client.version}, a transcript of ${(bytes / 1e6).toFixed(1)} MB`)
console.log(`the binary's answer: ${told(answers)}`)
console.log(`the whole /compact:  ${told(wholes)}`)
process.exit(0)
