/** What the user takes back with the client's own `/rewind` is marked, and not given back after a compaction. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { additionalContext, clearStages, openStage, RESTORE_MARK, type Stage } from "./checks.ts"
import { type Client, clientFor } from "./clients.ts"
import { Terminal } from "./drive.ts"
import { say } from "./mock-api.ts"
import { countCalls, ctxbridge, hookCalls, until } from "./world.ts"

setDefaultTimeout(240_000)

const ANIMALS = ["heron", "walrus", "ibex", "tapir"] as const

/** Stands above the list of prompts. */
const MENU = "the point before"

const RESTORE = "Restore conversation"

const prompt = (animal: string): string => `Never touch ${animal}.cfg`
const answer = (animal: string): string => `The ${animal} is safe.`

/** Asks about three animals, takes the last two back, asks about a fourth, and compacts. */
async function play(client: Client, isAskedAgain: boolean): Promise<Stage> {
  const stage = openStage(client)
  const { world, mock } = stage
  for (const animal of ANIMALS) mock.plan(prompt(animal), [say(answer(animal))])
  const terminal = await Terminal.start(world)
  const ask = async (animal: string) => {
    const [prompts, stops] = [countCalls(world, "UserPromptSubmit"), countCalls(world, "Stop")]
    await terminal.enter(prompt(animal), () => countCalls(world, "UserPromptSubmit") > prompts)
    await until(`the end of the turn about the ${animal}`, () => countCalls(world, "Stop") > stops)
    await terminal.waitFor(`the ${animal}'s answer`, () => terminal.shows(answer(animal)))
  }
  try {
    for (const animal of ANIMALS.slice(0, 3)) await ask(animal)
    await terminal.enter("/rewind", () => terminal.shows(MENU))
    await choose(terminal, "walrus")
    terminal.press("Enter")
    await terminal.waitFor("what to restore", (screen) => screen.includes(RESTORE))
    terminal.press("Enter")
    await terminal.waitFor("the prompt that was taken back", (screen) => {
      const isClosed = !screen.includes(RESTORE) && !screen.includes(answer("walrus"))
      return isClosed && screen.includes(prompt("walrus"))
    })
    await emptyLine(terminal)
    if (isAskedAgain) await ask("tapir")
    await terminal.enter("/compact", () => countCalls(world, "SessionStart", "compact") > 0)
    await terminal.leave()
  } finally {
    terminal.kill()
  }
  return stage
}

/** Longer than any client takes to react to a key; the first one after the list is drawn may be lost. */
const PRESS_AGAIN = 2_000
const APART = 500

/** Goes to this animal's prompt in the list, which begins at the present, below the latest prompt. */
async function choose(terminal: Terminal, animal: string): Promise<void> {
  const list = [...ANIMALS.slice(0, 3).map(prompt), "(current)"]
  const wanted = list.indexOf(prompt(animal))
  let [before, pressed] = [-1, 0]
  await terminal.waitFor(`${animal} chosen`, (screen) => {
    const [, menu = ""] = screen.split(MENU)
    const line = menu.split("\n").find((shown) => /^\s*[>❯]\s/.test(shown)) ?? ""
    const at = list.findIndex((one) => line.includes(one))
    if (at >= 0 && at !== wanted && (at !== before || Date.now() - pressed > PRESS_AGAIN)) {
      terminal.press(at > wanted ? "Up" : "Down")
      ;[before, pressed] = [at, Date.now()]
    }
    return at === wanted
  })
}

/** In turn: a key that empties the line, until it is empty. */
const EMPTYING: Readonly<Record<string, string>> = { "C-u": "C-k", "C-k": "BSpace", BSpace: "C-u" }

/**
 * Empties the input, where the prompt that was taken back stands again. The oldest client leaves the cursor anywhere in
 * it, so what stands before the cursor and what stands behind it are removed in turn. Where the machine was so busy that
 * Enter was pressed a second time, the prompt begins with a line break: then the text stands in the second line.
 */
async function emptyLine(terminal: Terminal): Promise<void> {
  let [key, pressed] = ["BSpace", 0]
  await terminal.waitFor("an empty line", (screen) => {
    const lines = screen.split("\n")
    const at = lines.findLastIndex((shown) => /^[\s│]*[>❯]/.test(shown))
    // The border of the input follows an only line.
    if (!/Never|\.cfg/.test(lines[at] ?? "") && lines[at + 1]?.includes("──")) return true
    // One key at a time: two that arrive together are a paste to some clients.
    if (Date.now() - pressed > APART) {
      key = EMPTYING[key]!
      terminal.press(key)
      pressed = Date.now()
    }
    return false
  })
}

/** Prompts of the session's turns, those that were taken back in brackets. */
function told({ world }: Stage): string[] {
  const json = (...args: string[]) => {
    const { exitCode, stdout, stderr } = ctxbridge(world, [...args, "--json"])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
    return JSON.parse(stdout)
  }
  const { sessions } = json("sessions")
  const { turns } = json("show", sessions[0].id)
  return turns
    .filter(({ via }: { via: string }) => via !== "command")
    .map(({ prompt, takenBack }: { prompt: string; takenBack?: true }) =>
      takenBack ? `[${prompt.trim()}]` : prompt.trim(),
    )
}

const TAKEN_BACK = ["walrus", "ibex"].map((animal) => `[${prompt(animal)}]`)

for (const wanted of ["2.0.76", "2.1.112", "latest"]) {
  const { client, missing } = await clientFor(wanted)
  const noTerminal = missing ?? (Bun.which("tmux") === null ? "tmux is not installed" : undefined)
  if (missing === undefined && noTerminal !== undefined)
    console.warn(`skipped: Claude Code ${wanted} in a terminal: ${noTerminal}`)
  // Both at once, since most of their time is waiting for a key to take effect.
  describe.concurrent.skipIf(noTerminal !== undefined)(`Claude Code ${wanted} (${client.version})`, () => {
    afterAll(clearStages)

    test("turns that were taken back are marked, and nothing of them is given back", async () => {
      const stage = await play(client, true)
      expect(told(stage)).toEqual([prompt("heron"), ...TAKEN_BACK, prompt("tapir")])
      expect(given(stage)).toEqual(["heron", "tapir"])
    })

    // What is given back then has been made before anything tells of it.
    test("they are marked also when a compaction comes first", async () => {
      const stage = await play(client, false)
      expect(told(stage)).toEqual([prompt("heron"), ...TAKEN_BACK])
    })
  })
}

/** Animals of which the restore after the compaction tells. */
function given({ world }: Stage): string[] {
  const call = hookCalls(world).find(({ event, detail }) => event === "SessionStart" && detail === "compact")!
  const context = additionalContext(call)
  expect(context).toStartWith(RESTORE_MARK)
  return ANIMALS.filter((animal) => context.includes(animal))
}
