/** `prune native` in the real clients: what reaches the API, and what it would refuse. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import type { Stage } from "./checks.ts"
import { type Client, clientFor, isOld } from "./clients.ts"
import { runPrint, Terminal } from "./drive.ts"
import { bash, delegate, type Recorded, say, startMock } from "./mock-api.ts"
import { createWorld, ctxbridge } from "./world.ts"

setDefaultTimeout(240_000)
const stages: Stage[] = []
afterAll(() => {
  for (const { world, mock } of stages) {
    mock.stop()
    world.dispose()
  }
})

const BETA = "context-management-2025-06-27"
const CLEARING = "clear_tool_uses_20250919"
const NAME = "CLAUDE_CODE_EXTRA_BODY"

interface Managed {
  readonly context_management?: { readonly edits: readonly { readonly type: string }[] }
  readonly metadata?: object
  readonly mine?: number
}

const bodyOf = ({ body }: Recorded): Managed => body as Managed
const editsOf = (request: Recorded): string[] =>
  (bodyOf(request).context_management?.edits ?? []).map(({ type }) => type)

/** A world in which the client is the one that is called by name, with our hooks as they are: not recorded. */
function stageFor(client: Client): Stage & { readonly settings: string } {
  const mock = startMock()
  const world = createWorld(client, mock.url)
  const stage = { world, mock }
  stages.push(stage)
  const bin = join(world.root, "claude-bin")
  mkdirSync(bin)
  symlinkSync(client.command.at(-1)!, join(bin, "claude"))
  world.env["PATH"] = `${bin}${delimiter}${world.env["PATH"]}`
  expect(ctxbridge(world, ["install", "--no-import"]).exitCode).toBe(0)
  mock.plan("Look around", [bash("echo around"), say("I looked.")])
  mock.plan("Have it looked at", [delegate("Peek below"), say("It was looked at.")])
  mock.plan("Peek below", [bash("echo below"), say("I peeked.")])
  return { ...stage, settings: join(world.home, ".claude", "settings.json") }
}

function setExtra(stage: { readonly settings: string }, value: object): void {
  const text = JSON.parse(readFileSync(stage.settings, "utf8"))
  writeFileSync(stage.settings, JSON.stringify({ ...text, env: { [NAME]: JSON.stringify(value) } }, null, 2))
}

function prune(stage: Stage, ...args: string[]) {
  const ran = ctxbridge(stage.world, ["prune", "native", ...args])
  expect({ exitCode: ran.exitCode, stderr: ran.stderr }).toEqual({ exitCode: 0, stderr: "" })
}

/** The requests of one session that asks for something, compacts and goes on. */
async function requestsOf(stage: Stage): Promise<readonly Recorded[]> {
  const from = stage.mock.requests.length
  const { code } = await runPrint(stage.world, [
    "Look around",
    "Have it looked at",
    "/compact",
    "Look around",
  ])
  expect(code).toBe(0)
  return stage.mock.requests.slice(from)
}

for (const wanted of ["2.1.112", "latest"]) {
  const { client, missing } = await clientFor(wanted)

  describe.skipIf(missing !== undefined)(`prune native in ${client.version}`, () => {
    test("reaches every request, with what the user has there and with the beta; and no more after it is taken back", async () => {
      const stage = stageFor(client)
      setExtra(stage, { mine: 7 })
      // At its first start, the client itself rewrites the file.
      const without = await requestsOf(stage)
      const before = readFileSync(stage.settings, "utf8")
      prune(stage)
      const requests = await requestsOf(stage)
      expect(requests.map(({ kind }) => kind)).toContain("compact")
      expect(requests.map(({ plan }) => plan)).toContain("Peek below")
      for (const request of requests) {
        expect(editsOf(request)).toEqual([CLEARING])
        expect(bodyOf(request).mine).toBe(7)
        expect(request.betas).toContain(BETA)
      }
      prune(stage, "--revert")
      expect(readFileSync(stage.settings, "utf8")).toBe(before)
      const after = await requestsOf(stage)
      expect(after.map(editsOf)).toEqual(without.map(editsOf))
      expect(after.flatMap(editsOf)).not.toContain(CLEARING)
      for (const request of after) expect(bodyOf(request).mine).toBe(7)
    })

    test("the user's edits come before ours", async () => {
      const stage = stageFor(client)
      setExtra(stage, { context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] } })
      prune(stage)
      for (const request of await requestsOf(stage))
        expect(editsOf(request)).toEqual(["clear_thinking_20251015", CLEARING])
    })

    test("comes before the shell's, and after the project's", async () => {
      const stage = stageFor(client)
      stage.world.env[NAME] = '{"mine":1}'
      prune(stage)
      for (const request of await requestsOf(stage)) {
        expect(editsOf(request)).toEqual([CLEARING])
        expect(bodyOf(request).mine).toBeUndefined()
      }
      mkdirSync(join(stage.world.cwd, ".claude"), { recursive: true })
      const project = join(stage.world.cwd, ".claude", "settings.json")
      writeFileSync(project, JSON.stringify({ env: { [NAME]: '{"mine":2}' } }))
      for (const request of await requestsOf(stage)) {
        expect(editsOf(request)).not.toContain(CLEARING)
        expect(bodyOf(request).mine).toBe(2)
      }
      expect(ctxbridge(stage.world, ["prune"]).stdout).toContain(
        "project settings set CLAUDE_CODE_EXTRA_BODY",
      )
    })

    test("no request brings what the API refuses: thinking cleared where there is none, or a field without its beta", async () => {
      const stage = stageFor(client)
      prune(stage)
      const { mock, world } = stage
      const terminal = await Terminal.start(world)
      try {
        await terminal.enter("Look around", () => mock.requests.some(({ plan }) => plan === "Look around"))
        await terminal.waitFor("the answer", (screen) => screen.includes("I looked."))
      } finally {
        terminal.kill()
      }
      expect(mock.requests.flatMap(editsOf)).toContain(CLEARING)
      for (const request of mock.requests) {
        if (editsOf(request).length > 0) expect(request.betas).toContain(BETA)
        if (request.body.thinking === undefined)
          expect(editsOf(request)).not.toContain("clear_thinking_20251015")
      }
    })
  })
}

const { client: old, missing: noOld } = await clientFor("2.0.76")

describe.skipIf(noOld !== undefined)(`prune native in ${old.version}`, () => {
  test("is refused, as its small requests would bring the setting without the beta, even if told of that", async () => {
    const stage = stageFor(old)
    expect(isOld(old)).toBe(true)
    const ran = ctxbridge(stage.world, ["prune", "native"])
    expect(ran.exitCode).toBe(1)
    expect(ran.stderr).toContain("does not ask for the API's beta in all its requests")
    const value = { context_management: { edits: [{ type: CLEARING }] } }
    setExtra(stage, value)
    const text = JSON.parse(readFileSync(stage.settings, "utf8"))
    text.env["ANTHROPIC_BETAS"] = BETA
    writeFileSync(stage.settings, JSON.stringify(text))
    const requests = await requestsOf(stage)
    const bad = requests.filter((one) => editsOf(one).length > 0 && !one.betas.includes(BETA))
    expect(bad.length).toBeGreaterThan(0)
  })
})
