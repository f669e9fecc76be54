/** Claude Code drops what our hook gives after a compaction: the next prompt brings it, exactly once. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  additionalContext,
  clearStages,
  occurrences,
  once,
  openStage,
  RESTORE_MARK,
  type Stage,
  transcripts,
} from "./checks.ts"
import { type Client, clientFor, isOld } from "./clients.ts"
import { type Output, runPrint, type Turn } from "./drive.ts"
import { bash, say } from "./mock-api.ts"
import { ctxbridge, type HookCall, hookCalls, readSettings, type World } from "./world.ts"

setDefaultTimeout(240_000)

/** What becomes of the answer after our hook has given it. */
const FAULTS = {
  "is too slow for the host": "sleep 60",
  "fails after its answer": "exit 1",
  "answers into a broken pipe": "exit 0",
} as const

/** Puts a fault behind the hook's answer after a compaction; other answers are passed on. */
function breakAnswers(world: World, fault: string): void {
  const script = join(world.root, "drop.sh")
  writeFileSync(
    script,
    `in=$(cat)
case $in in
  *'"source":"compact"'*) printf '%s' "$in" | sh -c "$1" >'${world.root}/dropped'; ${fault} ;;
  *) printf '%s' "$in" | sh -c "$1" ;;
esac
`,
  )
  const settings = readSettings(world)
  for (const { hooks } of settings.hooks["SessionStart"]!) {
    for (const hook of hooks) {
      hook.command = `sh '${script}' '${hook.command.replaceAll("'", `'\\''`)}'`
      hook.timeout = 2
    }
  }
  writeFileSync(join(world.home, ".claude", "settings.json"), JSON.stringify(settings))
}

const PROMPTS = ["First of all", "Second to that", "Third and last"] as const

/**
 * Whether the transcript has the prompt, and something of the model's behind it. Claude Code writes late; at a prompt
 * that comes sooner than that, nobody can tell what became of the one before.
 */
function isWritten(world: World, text: string): boolean {
  const projects = join(world.home, ".claude", "projects")
  return transcripts(world).some((name) => {
    const lines = readFileSync(join(projects, name), "utf8").split("\n")
    const at = lines.findIndex((line) => line.includes('"type":"user"') && line.includes(text))
    return at >= 0 && lines.slice(at).some((line) => line.includes('"type":"assistant"'))
  })
}

async function play(
  client: Client,
  fault: string,
  isStopped = false,
): Promise<Stage & { session: string; dropped: string }> {
  const stage = openStage(client)
  const { world, mock } = stage
  mock.plan("Write it", [bash("echo one"), say("It is written.")])
  const turns = PROMPTS.map((text): Turn => {
    const isOver = (outputs: readonly Output[]) => outputs.some(({ type }) => type === "result")
    return { text, until: (outputs) => isOver(outputs) && isWritten(world, text) }
  })
  if (isStopped) {
    // The user sees that the model has begun something long, and stops it; but for the last time.
    for (const [n, text] of PROMPTS.slice(0, -1).entries()) {
      const begun = join(world.root, `begun-${n}`)
      mock.plan(text, [bash(`: >'${begun}'; sleep 90`), say("Slept.")])
      turns[n] = { ...turns[n]!, stop: () => existsSync(begun) }
    }
  }
  breakAnswers(world, fault)
  const first = "Write it, never touch src/lexer.ts"
  const run = await runPrint(world, [first, "/compact", ...turns])
  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" })
  const answer = readFileSync(join(world.root, "dropped"), "utf8")
  const dropped = JSON.parse(answer).hookSpecificOutput.additionalContext as string
  return { ...stage, session: run.sessionId, dropped }
}

const prompted = ({ world }: Stage): HookCall[] =>
  hookCalls(world).filter(({ event }) => event === "UserPromptSubmit")

/** Each fault once where it differs: the oldest versions of Claude Code treat all of them alike. */
const PLAYS: readonly (readonly [wanted: string, faults: readonly (keyof typeof FAULTS)[]])[] = [
  ["2.0.76", ["fails after its answer"]],
  ["2.1.112", ["is too slow for the host", "answers into a broken pipe"]],
  ["latest", ["is too slow for the host", "fails after its answer", "answers into a broken pipe"]],
]

for (const [wanted, faults] of PLAYS) {
  const { client, missing } = await clientFor(wanted)
  describe.skipIf(missing !== undefined)(`Claude Code ${wanted} (${client.version})`, () => {
    afterAll(clearStages)

    for (const what of faults) {
      describe(`a hook that ${what}`, () => {
        const performance = once(() => play(client, FAULTS[what]))

        test("its text is in the conversation once, from a prompt on", async () => {
          const stage = await performance()
          const { mock, dropped } = stage
          expect(dropped).toStartWith(RESTORE_MARK)
          const given = prompted(stage)
            .map(additionalContext)
            .filter((text) => text !== "")
          const main = mock.requests.filter(({ kind }) => kind === "main")
          // The oldest versions of Claude Code write nothing down, so nobody knows: nothing is given twice.
          expect(given).toEqual(isOld(client) ? [] : [dropped])
          // Claude Code has written the first prompt by the time of the second.
          const late = prompted(stage).filter(
            (call) => !call.stdin["prompt"]?.toString().startsWith("Write it"),
          )
          if (!isOld(client)) expect(late.slice(0, 2).map(additionalContext)).toContain(dropped)
          expect(occurrences(main.at(-1)!.text, RESTORE_MARK)).toBe(isOld(client) ? 0 : 1)
          expect(main.filter(({ text }) => occurrences(text, RESTORE_MARK) > 1)).toEqual([])
          expect(mock.requests.filter(({ text }) => text.includes("ctxbridge restored"))).toEqual([])
        })

        test("the receipt tells of it", async () => {
          const { world, session, dropped } = await performance()
          const { exitCode, stdout, stderr } = ctxbridge(world, ["receipts", "--session", session, "--json"])
          expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
          const { receipts } = JSON.parse(stdout)
          expect(receipts).toMatchObject([
            { characters: dropped.length, delivery: isOld(client) ? "untold" : "arrived-later" },
          ])
          expect(receipts[0].kinds.constraint).toMatchObject({ before: 1, kept: 0, given: 1 })
        })
      })
    }

    // The oldest versions of Claude Code write nothing down, whoever stops them.
    describe.skipIf(isOld(client))("a hook that fails, and a user who stops every turn", () => {
      const performance = once(() => play(client, FAULTS["fails after its answer"], true))

      test("its text is in the conversation once, from a prompt on", async () => {
        const stage = await performance()
        const given = prompted(stage).map(additionalContext)
        expect(given.filter((text) => text !== "")).toEqual([stage.dropped])
        const main = stage.mock.requests.filter(({ kind }) => kind === "main")
        expect(occurrences(main.at(-1)!.text, RESTORE_MARK)).toBe(1)
      })
    })
  })
}
