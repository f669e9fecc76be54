/** Copies of sessions that a real client goes on with: from an earlier turn, in another folder, without what it fails at. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { clearStages, openStage, type Stage } from "./checks.ts"
import { clientFor } from "./clients.ts"
import { runPrint } from "./drive.ts"
import { type Block, bash, type Message, type Recorded, say } from "./mock-api.ts"
import { unsound } from "./sound-requests.ts"
import { ctxbridge, endJobs, type World } from "./world.ts"

setDefaultTimeout(240_000)

const [FIRST, SECOND, LATER] = ["Remember the heron", "Remember the grebe", "Which birds were there?"]

const fileIn = ({ home }: World, cwd: string, session: string): string =>
  join(home, ".claude/projects", cwd.replaceAll(/[^A-Za-z0-9]/g, "-"), `${session}.jsonl`)

const WANTED = "2.1.112"
const { client, missing } = await clientFor(WANTED, `rescued sessions with Claude Code ${WANTED}`)

describe.skipIf(missing !== undefined)(`Claude Code ${WANTED}`, () => {
  afterAll(clearStages)

  /** Two turns of which the archive has every byte. */
  async function played(cwdOf = (world: World) => world.cwd) {
    const stage = openStage(client)
    const cwd = cwdOf(stage.world)
    mkdirSync(cwd, { recursive: true })
    stage.mock.plan(FIRST, [bash("echo heron"), say("The heron is noted.")])
    stage.mock.plan(SECOND, [say("The grebe is noted.")])
    stage.mock.plan(LATER, [say("I looked them up.")])
    const { code, stderr, sessionId } = await runPrint({ ...stage.world, cwd }, [FIRST, SECOND])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(ctxbridge(stage.world, ["import", "--quiet"])).toMatchObject({ exitCode: 0 })
    endJobs(stage.world.root)
    return { ...stage, cwd, sessionId }
  }

  /** @returns what the model was sent with the next prompt */
  async function goneOn({ world, mock }: Stage, session: string): Promise<Recorded> {
    const from = mock.requests.length
    const { code, stderr, outputs } = await runPrint(world, [LATER], ["--resume", session])
    const ended = outputs.findLast(({ type }) => type === "result")
    expect({ code, stderr, session: ended?.session_id }).toEqual({ code: 0, stderr: "", session })
    return mock.requests.slice(from).find(({ kind, text }) => kind === "main" && text.includes(LATER))!
  }

  test("--from: goes on from the first turn; the session keeps its bytes", async () => {
    const { world, mock, sessionId } = await played()
    const own = fileIn(world, world.cwd, sessionId)
    const before = readFileSync(own)
    const { exitCode, stdout, stderr } = ctxbridge(world, ["resume", sessionId, "--from", "1", "--json"])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
    const { session, command } = JSON.parse(stdout)
    expect(command).toBe(`cd ${world.cwd} && claude --resume ${session}`)
    const said = JSON.stringify((await goneOn({ world, mock }, session)).body.messages)
    for (const text of [FIRST, "echo heron", "The heron is noted."]) expect(said).toContain(text)
    for (const text of [SECOND, "The grebe is noted."]) expect(said).not.toContain(text)
    expect(readFileSync(own)).toEqual(before)
  })

  test("--here: goes on in another folder with all of a session whose folder is gone", async () => {
    const { world, mock, cwd, sessionId } = await played(({ root }) => join(root, "worktree"))
    const own = fileIn(world, cwd, sessionId)
    const before = readFileSync(own)
    rmSync(cwd, { recursive: true })
    const { exitCode, stdout, stderr } = ctxbridge(world, ["resume", sessionId, "--here", "--json"])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
    const { session, command, folder, path } = JSON.parse(stdout)
    expect({ command, folder, path }).toEqual({
      command: `cd ${world.cwd} && claude --resume ${session}`,
      folder: world.cwd,
      path: fileIn(world, world.cwd, session),
    })
    const said = JSON.stringify((await goneOn({ world, mock }, session)).body.messages)
    for (const text of [FIRST, "echo heron", SECOND, "The grebe is noted."]) expect(said).toContain(text)
    expect(readFileSync(own)).toEqual(before)
  })
})

interface Line {
  readonly type: string
  readonly uuid?: string
  readonly parentUuid?: string | null
  readonly message?: Message
}

const blocksOf = ({ message }: Line): readonly Block[] =>
  typeof message?.content === "object" ? message.content : []
const has = (line: Line, type: string): boolean => blocksOf(line).some((block) => block.type === type)

/** Without a line, which nothing follows any more. */
function less(lines: readonly Line[], isGone: (line: Line) => boolean): Line[] {
  const gone = lines.find(isGone)!
  return lines
    .filter((line) => line !== gone)
    .map((line) => (line.parentUuid === gone.uuid ? { ...line, parentUuid: gone.parentUuid! } : line))
}

/** With other blocks in the first line that has such a block. */
function other(lines: readonly Line[], type: string, change: (block: Block) => object[]): Line[] {
  const at = lines.findIndex((line) => has(line, type))
  return lines.map((line, n) =>
    n === at
      ? { ...line, message: { ...line.message!, content: blocksOf(line).flatMap(change) as Block[] } }
      : line,
  )
}

const image = (data: string) => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
})
/** The API takes 5 MB. */
const HUGE = `iVBORw0KGgo${"A".repeat(6 << 20)}`

interface Ill {
  readonly version: string
  readonly make: (lines: readonly Line[]) => readonly Line[] | string
  readonly kinds: readonly string[]
  /** Whether the client fails with it: newer ones see to some of these themselves. */
  readonly fails: boolean
  /** What was in the part that is wrong. */
  readonly loses?: string
}

const ILLS: Readonly<Record<string, Ill>> = {
  "a result without its call": {
    version: "2.0.76",
    make: (lines) => less(lines, (line) => has(line, "tool_use")),
    kinds: ["orphan-result"],
    fails: true,
  },
  "an answer without text": {
    version: "2.0.76",
    make: (lines) => other(lines, "text", (block) => [block, { type: "text", text: "" }]),
    kinds: ["empty-text"],
    fails: true,
  },
  "a call without a result": {
    version: WANTED,
    make: (lines) => less(lines, (line) => has(line, "tool_result")),
    kinds: ["unanswered-call"],
    fails: false,
  },
  "an empty text in a result": {
    version: WANTED,
    make: (lines) =>
      other(lines, "tool_result", (block) => [{ ...block, content: [{ type: "text", text: "" }] }]),
    kinds: ["empty-text"],
    fails: true,
  },
  "an image that is none": {
    version: WANTED,
    make: (lines) => other(lines, "tool_result", (block) => [{ ...block, content: [image("AAAA")] }]),
    kinds: ["bad-image"],
    fails: true,
  },
  "an image that is too large": {
    version: WANTED,
    make: (lines) => other(lines, "tool_result", (block) => [{ ...block, content: [image(HUGE)] }]),
    kinds: ["bad-image"],
    fails: true,
  },
  "a thought with another signature, which only the API can tell": {
    version: WANTED,
    make: (lines) => other(lines, "thinking", (block) => [{ ...block, signature: "YWx0ZXJlZA==" }]),
    kinds: ["altered-thinking", "altered-thinking"],
    fails: true,
  },
  "a torn line, with another glued to it": {
    version: WANTED,
    make: (lines) => {
      const texts = lines.map((line) => JSON.stringify(line))
      const at = lines.findIndex((line) => has(line, "tool_result")) + 1
      texts.splice(at, 2, texts[at]!.slice(0, 90) + texts[at + 1]!)
      return texts.join("\n")
    },
    kinds: ["torn-line"],
    fails: false,
    loses: "The heron is noted.",
  },
}

for (const version of ["2.0.76", WANTED]) {
  const { client, missing } = await clientFor(version, `repaired sessions with Claude Code ${version}`)

  describe.skipIf(missing !== undefined)(`repaired for Claude Code ${version}`, () => {
    const ills = Object.entries(ILLS).filter(([, ill]) => ill.version === version)
    let stage: Stage
    let healthy: readonly Line[] = []
    let session = ""
    afterAll(clearStages)

    beforeAll(async () => {
      stage = openStage(client, { refuses: unsound })
      const { world, mock } = stage
      mock.plan(FIRST, [{ think: "A heron.", ...bash("echo heron") }, say("The heron is noted.")])
      mock.plan(SECOND, [{ think: "A grebe.", ...say("The grebe is noted.") }])
      mock.plan(LATER, [say("I looked them up.")])
      const { code, sessionId } = await runPrint(world, [FIRST, SECOND])
      expect(code).toBe(0)
      session = sessionId
      const text = readFileSync(fileIn(world, world.cwd, session), "utf8").trim()
      healthy = text.split("\n").map((line) => JSON.parse(line) as Line)
      expect(ctxbridge(world, ["import", "--quiet"])).toMatchObject({ exitCode: 0 })
      expect(ctxbridge(world, ["repair", session])).toEqual({
        exitCode: 0,
        stdout: `Nothing is wrong with the transcript of session ${session}; nothing was written\n`,
        stderr: "",
      })
    })

    async function goOn(id: string) {
      const { world, mock } = stage
      const from = mock.requests.length
      const { code } = await runPrint(world, [LATER], ["--resume", id])
      const sent = mock.requests.slice(from).filter(({ kind }) => kind === "main")
      return { code, refused: sent.flatMap(({ refused = [] }) => refused), said: JSON.stringify(sent) }
    }

    test.each(ills)("%s", async (_name, { make, kinds, fails, loses }) => {
      const { world } = stage
      const id = crypto.randomUUID()
      const file = fileIn(world, world.cwd, id)
      const made = make(healthy)
      const text = typeof made === "string" ? made : made.map((line) => JSON.stringify(line)).join("\n")
      writeFileSync(file, `${text.replaceAll(session, id)}\n`)
      expect(ctxbridge(world, ["import", "--quiet"])).toMatchObject({ exitCode: 0 })
      endJobs(world.root)
      if (fails) expect(await goOn(id)).toMatchObject({ code: 1 })

      const before = readFileSync(file)
      const { exitCode, stdout, stderr } = ctxbridge(world, ["repair", id, "--json"])
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
      const { faults, copy } = JSON.parse(stdout)
      expect(faults.map(({ kind }: { kind: string }) => kind)).toEqual(kinds)
      expect(copy.command).toBe(`cd ${world.cwd} && claude --resume ${copy.session}`)
      expect(readFileSync(file)).toEqual(before)

      const { said, ...went } = await goOn(copy.session)
      expect(went).toEqual({ code: 0, refused: [] })
      for (const kept of [FIRST, "The heron is noted.", SECOND, "The grebe is noted."])
        expect([kept, said.includes(kept)]).toEqual([kept, kept !== loses])
      const again = ctxbridge(world, ["import", "--quiet"])
      expect(again).toMatchObject({ exitCode: 0 })
      expect(ctxbridge(world, ["repair", copy.session]).stdout).toStartWith("Nothing is wrong")
    })
  })
}
