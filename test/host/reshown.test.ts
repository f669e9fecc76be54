/** What Claude Code itself puts into the context after a compaction is not given back beside it. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import {
  additionalContext,
  clearStages,
  once,
  openStage,
  RESTORE_MARK,
  type Stage,
  transcripts,
} from "./checks.ts"
import { type Client, clientFor, isOld } from "./clients.ts"
import { runPrint, type Turn } from "./drive.ts"
import { type Recorded, read, say } from "./mock-api.ts"
import { hookCalls, type World } from "./world.ts"

setDefaultTimeout(240_000)

const rule = (name: string): string => `Never touch ${name}.cfg.`

/** Where Claude Code has it from, and how it says so. */
const SOURCES = {
  memory: "told-by-memory",
  imported: "told-by-import",
  nested: "told-by-nested",
  ruled: "told-by-rules",
  user: "told-by-user",
  planned: "told-by-plan",
  skilled: "told-by-skill",
  ordered: "told-by-command",
  seen: "told-by-file",
} as const

type Source = keyof typeof SOURCES

const NAMES = Object.keys(SOURCES) as Source[]
/** What only looks as if Claude Code read it; settings of newer ones exclude the last. */
const EXCLUDED = "excluded"
const unread = (client: Client): string[] => ["spanned", "outside", ...(isOld(client) ? [] : [EXCLUDED])]

const TODO = "Open the third valve"

/** Whether a version has the tool that keeps a list of them. */
const hasTodos = ({ version }: Client): boolean => Bun.semver.order(version, "2.1.112") <= 0

/** Whether a plugin may compact. */
const hasModules = ({ version }: Client): boolean => Bun.semver.order(version, "2.1.329") >= 0

const told = (name: Source): string => `${rule(name)} (${SOURCES[name]})\n`

function furnish(world: World): void {
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  const here = (...parts: string[]): string => join(world.cwd, ...parts)
  const imports = "See @docs/imported.md and `@docs/spanned.md`.\n\n- @../outside.md\n- @docs/excluded.md\n"
  put(here("CLAUDE.md"), `# Project\n\n${told("memory")}\n${imports}`)
  put(here("docs", "imported.md"), `${told("imported")}\n- @deep/nested.md\n`)
  put(here("docs", "deep", "nested.md"), told("nested"))
  put(here("docs", "spanned.md"), rule("spanned"))
  put(here("..", "outside.md"), rule("outside"))
  if (!isOld(world.client)) {
    put(here("docs", "excluded.md"), `${rule(EXCLUDED)} (told-by-excluded)`)
    const settings = { claudeMdExcludes: ["**/docs/excl*.md"], plansDirectory: "docs/plans" }
    put(here(".claude", "settings.json"), JSON.stringify(settings))
  }
  put(here(".claude", "rules", "all.md"), told("ruled"))
  put(join(world.home, ".claude", "CLAUDE.md"), told("user"))
  const head = (name: string): string => `---\nname: ${name}\ndescription: Tells of ${name}.\n---\n`
  put(here(".claude", "skills", "tidy", "SKILL.md"), head("tidy") + told("skilled"))
  put(here(".claude", "commands", "order.md"), `---\ndescription: Orders.\n---\nOrder it. ${told("ordered")}`)
  put(here("src", "seen.ts"), `export const seen = 1 // ${told("seen")}`)
}

/** The name of the session's plan, once a line tells it. */
function plan(world: World): string | undefined {
  const projects = join(world.home, ".claude", "projects")
  const lines = transcripts(world).map((name) => readFileSync(join(projects, name), "utf8"))
  return /"slug":"([a-z-]+)"/.exec(lines.join("\n"))?.[1]
}

function writePlan(world: World): boolean {
  const name = plan(world)
  if (name === undefined) return false
  const folder = isOld(world.client) ? join(world.home, ".claude", "plans") : join(world.cwd, "docs", "plans")
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.md`), told("planned"))
  return true
}

const PREFACE =
  "We work in one way here, and it holds for all that comes later on, whatever the task may be and whoever is the one that asks for it. "

interface Play extends Stage {
  readonly given: string
  readonly next: Recorded
}

/** Answers compactions in Claude Code's place, and keeps the last message. */
const PLUGIN = `export const register = (on) => {
  on("session.compact", async ($, e) => {
    const note = { role: "user", text: "Note of the plugin", toolUses: [] }
    const assent = { role: "assistant", text: "It is read.", toolUses: [] }
    return { messages: [note, assent, ...e.messages.slice(-1)] }
  })
}
`

function writePlugin(world: World): string {
  const plugin = join(world.root, "plugin")
  for (const folder of [".claude-plugin", "hooks"]) mkdirSync(join(plugin, folder), { recursive: true })
  const manifest = { name: "tidy", version: "0.0.1", description: "Answers compactions" }
  writeFileSync(join(plugin, ".claude-plugin", "plugin.json"), JSON.stringify(manifest))
  const hooks = { modules: ["./register.mjs"], hooks: {} }
  writeFileSync(join(plugin, "hooks", "hooks.json"), JSON.stringify(hooks))
  writeFileSync(join(plugin, "hooks", "register.mjs"), PLUGIN)
  return plugin
}

interface Circumstances {
  readonly isPlugged?: boolean
  /** The client is started again just before the compaction. */
  readonly isResumed?: boolean
}

async function play(client: Client, { isPlugged, isResumed }: Circumstances = {}): Promise<Play> {
  const stage = openStage(client)
  const { world, mock } = stage
  world.env["CTXBRIDGE_RESTORE_BUDGET"] = "9500"
  // What is printed at /compact is not restored, either.
  world.env["CTXBRIDGE_INSTRUCTIONS_BUDGET"] = "0"
  furnish(world)
  const todos = [{ content: TODO, status: "pending", activeForm: "Opening" }]
  mock.plan("This is how", [
    read(join(world.cwd, "src", "seen.ts")),
    // The newest have other tools for it, and not in print mode.
    ...(hasTodos(client) ? [{ tool: { name: "TodoWrite", input: { todos } } }] : []),
    say("So be it."),
  ])
  mock.plan("Tidy up", [{ tool: { name: "Skill", input: { skill: "tidy" } } }, say("It is tidy.")])
  const rules = (...names: readonly string[]): string => names.map(rule).join(" ")
  const first: Turn = {
    text: `This is how. ${PREFACE}${rules(...NAMES.slice(0, 6))}`,
    until: (outputs) => outputs.some(({ type }) => type === "result") && writePlan(world),
  }
  const prompts = [
    first,
    `Tidy up. ${PREFACE}${rules(...NAMES.slice(6), ...unread(client))}`,
    `Mind this. ${PREFACE}${rules("control")}`,
    "/order",
    "/compact",
    "And now?",
  ]
  const args = ["--permission-mode", "plan", "--allowed-tools", "Skill", "TodoWrite", "Read"]
  if (isPlugged) args.push("--plugin-dir", writePlugin(world))
  if (isResumed) args.push("--resume", (await runPrint(world, prompts.splice(0, 4), args)).sessionId)
  const run = await runPrint(world, prompts, args)
  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" })
  const call = hookCalls(world).find((one) => one.event === "SessionStart" && one.detail === "compact")!
  expect(mock.requests.some(({ kind }) => kind === "compact")).toBe(isPlugged !== true)
  const next = mock.requests.find(({ kind, at }) => kind === "main" && at >= call.began)!
  return { ...stage, given: additionalContext(call), next }
}

for (const wanted of ["2.0.76", "2.1.112", "latest"]) {
  const { client, missing } = await clientFor(wanted)
  describe.skipIf(missing !== undefined)(`Claude Code ${wanted} (${client.version})`, () => {
    afterAll(clearStages)
    const performance = once(() => play(client))

    test("the host shows all of it again", async () => {
      const { next, given } = await performance()
      const shown = next.text.replace(given.trim(), "")
      // The oldest show what the model has invoked, and not what the user has.
      const unshown = NAMES.filter((name) => !shown.includes(SOURCES[name]))
      expect(unshown).toEqual(isOld(client) ? ["ordered"] : [])
      expect(shown).not.toContain(RESTORE_MARK)
      expect(shown).toContain("src/seen.ts")
    })

    test("nothing of it is given back, and the rest is", async () => {
      const { given, next } = await performance()
      expect(given).toStartWith(RESTORE_MARK)
      expect(next.text).toContain(given.trim())
      const again = NAMES.filter((name) => given.includes(rule(name)))
      expect(again).toEqual(isOld(client) ? ["ordered"] : [])
      const missing = [...unread(client), "control"].filter((name) => !given.includes(`"${rule(name)}"`))
      expect(missing).toEqual([])
      expect(next.text).not.toContain("told-by-excluded")
      expect(given).not.toContain("src/seen.ts")
      // Only the oldest show it again, beside what was told to the summarizer.
      expect(given.includes(TODO)).toBe(hasTodos(client) && !isOld(client))
      const shown = next.text.replace(given.trim(), "").replaceAll(`pending task: "${TODO}"`, "")
      expect(shown.includes(TODO)).toBe(isOld(client))
    })

    // The middle one does as the newest.
    test.skipIf(wanted === "2.1.112")(
      "after a resume, skills and commands are forgotten, and by the oldest the plan",
      async () => {
        const { given, next } = await play(client, { isResumed: true })
        const shown = next.text.replace(given.trim(), "")
        const forgotten = [...(isOld(client) ? ["planned"] : []), "skilled", "ordered"]
        expect(NAMES.filter((name) => !shown.includes(SOURCES[name])).map(String)).toEqual(forgotten)
        const again = NAMES.filter((name) => given.includes(`"${rule(name)}"`))
        expect(again.map(String).sort()).toEqual(forgotten.sort())
        if (hasTodos(client)) {
          const list = shown.replaceAll(`pending task: "${TODO}"`, "")
          expect([list, given].map((text) => text.includes(TODO))).toEqual([isOld(client), !isOld(client)])
        }
      },
    )

    test.skipIf(!hasModules(client))("a plugin that compacts: memory files alone", async () => {
      const { given, next } = await play(client, { isPlugged: true })
      const shown = next.text.replace(given.trim(), "")
      const memory = ["memory", "imported", "nested", "ruled", "user"]
      expect(NAMES.filter((name) => shown.includes(SOURCES[name])).map(String)).toEqual(memory)
      const again = NAMES.filter((name) => given.includes(`"${rule(name)}"`))
      expect(again.sort()).toEqual(NAMES.filter((name) => !memory.includes(name)).sort())
    })
  })
}
