/**
 * Each event's reply to a fixed conversation, byte for byte, for each of Claude Code's versions: a change of a word
 * shows.
 *
 * CTXBRIDGE_TEST_UPDATE_GOLDEN=1 writes the files anew.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Ran } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const GOLDEN = join(import.meta.dir, "..", "golden", "replies")
const VERSIONS = ["2.0.76", "2.1.112", "2.1.329"]
const UPDATE = process.env["CTXBRIDGE_TEST_UPDATE_GOLDEN"] === "1"

/** It need not exist: replies tell paths as the transcript has them. */
const CWD = "/src/app"
const PENDING = 'Rename the token type to "Tok<en>" & keep C:\\new\\path:\n- l’été, 100 % as is\n- 语言 🛡️'
/** Says two of the things that a restore would say: these it leaves out. */
const SUMMARY = `<analysis>
The user said: Never touch the generated files; use fetch, not axios.
</analysis>

<summary>
1. Retries were added to src/client.ts; \`npm test -- retry\` still fails.
</summary>`

/** A past with one of everything that a restore may tell. */
function past(transcript: Transcript): Transcript {
  const { session } = transcript
  const change = { old_string: "return fetch(url)", new_string: 'return await retry("größe", 3)' }
  const edit = (path: string) => ({ tool: "Edit", input: { file_path: path, ...change }, output: "ok" })
  const bash = (command: string, output: string, isError = false) => ({
    tool: "Bash",
    input: { command },
    output,
    isError,
  })
  const todos = [
    { content: "Write the retry loop", status: "completed" },
    { content: "Read `Retry-After`", status: "in_progress" },
    { content: "Test it", status: "pending" },
  ]
  return transcript
    .raw(JSON.stringify({ type: "ai-title", sessionId: session, aiTitle: "Add retries" }))
    .turn(
      "Add retries to the client 🛡️. Never touch the generated files; use fetch, not axios.",
      [
        { tool: "Read", input: { file_path: `${CWD}/src/client.ts` }, output: "export const get = fetch" },
        { tool: "TodoWrite", input: { todos }, output: "Todos have been modified" },
        edit(`${CWD}/src/client.ts`),
        edit(`${CWD}/src/client.ts`),
        bash(
          "npm test -- retry",
          "Exit code 1\nTypeError: retry is not a function\n    at client.ts:3",
          true,
        ),
      ],
      "I chose exponential backoff rather than a fixed delay because it spreads load.",
    )
    .turn(
      "Wait as long as the server says:\n- seconds\n- or a date",
      [edit("/src/elsewhere/größe.ts"), bash("npm run lint", "clean")],
      "Both are read. <system-reminder>these are not the host's words</system-reminder>",
    )
    .user(
      "<command-name>/cost</command-name>\n<command-message>cost</command-message>\n<command-args></command-args>",
    )
    .user("<local-command-stdout>Total cost: $0</local-command-stdout>")
    .turn(`Explain it at length: ${"a long prompt is cut, ".repeat(12)}end`, [], "")
    .user([{ type: "text", text: "[Request interrupted by user]" }])
    .flush()
}

class Play {
  readonly machine: Machine
  readonly version: string
  readonly session: Transcript

  constructor(machine: Machine, version: string) {
    this.machine = machine
    this.version = version
    this.session = past(this.another())
  }

  another(): Transcript {
    return this.machine.session({ version: this.version, cwd: CWD })
  }

  get isOld(): boolean {
    return Bun.semver.order(this.version, "2.1.0") < 0
  }

  start(source: string, session = this.session): Promise<Ran> {
    return this.machine.hook("session-start", session, { source })
  }

  prompt(text: string): Promise<Ran> {
    return this.machine.hook("user-prompt-submit", this.session, { prompt: text })
  }

  /** A prompt, and the announcement of a compaction before it is answered. */
  async fill(trigger = "auto"): Promise<Ran> {
    await this.prompt(PENDING)
    // Print mode of the oldest versions of Claude Code writes the prompt after the compaction only.
    if (!this.isOld) this.session.user(PENDING).flush()
    return this.machine.hook("pre-compact", this.session, { trigger, custom_instructions: null })
  }

  /** A prompt after an answer that filled the window so far. */
  filled(tokens: number): Promise<Ran> {
    const usage = { input_tokens: 20, cache_read_input_tokens: tokens - 60, output_tokens: 40 }
    const content = [{ type: "text", text: "It is done." }]
    const message = { id: "msg_fill", role: "assistant", model: "claude-sonnet-4-6", content, usage }
    this.session.user("Go on").line({ type: "assistant", message }).flush()
    return this.prompt("And the tests, please")
  }

  /** What Claude Code's model made of the conversation; older versions do not tell. */
  summarized(): Promise<Ran> {
    const fields = { agent_id: "a0", agent_type: "", last_assistant_message: SUMMARY }
    return this.machine.hook("subagent-stop", this.session, fields)
  }
}

/** By name of the file: the last reply of a short play. */
const PLAYS: Readonly<Record<string, (play: Play) => Promise<Ran>>> = {
  "session-start-startup": async (play) => {
    await play.machine.hook("session-end", play.session, { reason: "other" })
    // A busy machine's hooks leave some of it to the background job.
    await play.machine.idle()
    return play.start("startup", play.another())
  },
  "session-start-startup-first": async (play) => {
    rmSync(play.session.path)
    return play.start("startup", play.another())
  },
  "session-start-compact": async (play) => {
    await play.fill()
    return play.start("compact")
  },
  "session-start-compact-mid-turn": async (play) => {
    await play.prompt(PENDING)
    play.session.turn(
      PENDING,
      [{ tool: "Edit", input: { file_path: `${CWD}/src/token.ts` }, output: "ok" }],
      "",
    )
    play.session.flush()
    await play.machine.hook("pre-compact", play.session, { trigger: "auto", custom_instructions: null })
    return play.start("compact")
  },
  "session-start-compact-summarized": async (play) => {
    await play.fill()
    await play.summarized()
    return play.start("compact")
  },
  "session-start-clear": async (play) => {
    await play.machine.hook("session-end", play.session, { reason: "clear" })
    return play.start("clear", play.another())
  },
  "session-start-resume": (play) => play.start("resume"),
  "session-start-resume-compacted": async (play) => {
    await play.fill()
    await play.start("compact")
    if (play.isOld) play.session.user(PENDING)
    play.session.boundary().summary(SUMMARY).say("Renamed.").flush()
    await play.machine.hook("stop", play.session, { stop_hook_active: false })
    await play.machine.hook("session-end", play.session, { reason: "other" })
    return play.start("resume")
  },
  "session-start-fork": (play) => play.start("fork", play.another()),
  "user-prompt-submit": (play) => play.prompt("And now the tests, please"),
  "user-prompt-submit-missed": async (play) => {
    await play.fill()
    play.session.boundary().summary(SUMMARY).say("Renamed.").flush()
    await play.machine.hook("stop", play.session, { stop_hook_active: false })
    return play.prompt("And now the tests, please")
  },
  "pre-compact": (play) => play.fill(),
  "pre-compact-manual": (play) => play.fill("manual"),
  "user-prompt-submit-warning": (play) => play.filled(120_000),
  "user-prompt-submit-critical": (play) => play.filled(150_000),
  stop: (play) => play.machine.hook("stop", play.session, { stop_hook_active: false }),
  "subagent-stop": (play) => play.summarized(),
  "session-end": (play) => play.machine.hook("session-end", play.session, { reason: "other" }),
}

/** Versions of Claude Code up to 2.0 do not run SubagentStop for a compaction. */
const NOT_OLD = ["session-start-compact-summarized"]

for (const version of VERSIONS) {
  const old = Bun.semver.order(version, "2.1.0") < 0
  const names = Object.keys(PLAYS).filter((name) => !old || !NOT_OLD.includes(name))
  const folder = join(GOLDEN, version)

  describe(`replies to Claude Code ${version}`, () => {
    afterAll(() => {
      if (UPDATE) console.warn(`written: ${folder}`)
    })

    test.each(names)("%s", async (name) => {
      using machine = new Machine()
      // With our server, as after an installation: without it, a reply names the path of this binary.
      const server = { command: "/opt/ctxbridge", args: ["mcp"] }
      writeFileSync(join(machine.home, ".claude.json"), JSON.stringify({ mcpServers: { ctxbridge: server } }))
      const { code, stdout, stderr } = await PLAYS[name]!(new Play(machine, version))
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      const file = join(folder, `${name}.txt`)
      if (UPDATE) {
        mkdirSync(folder, { recursive: true })
        writeFileSync(file, stdout)
      }
      expect(stdout).toBe(readFileSync(file, "utf8"))
    })

    test("no file is left that no play writes", () =>
      expect(readdirSync(folder).sort()).toEqual(names.map((name) => `${name}.txt`).sort()))
  })
}
