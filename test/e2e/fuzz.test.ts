/**
 * Whatever comes on stdin, and however it comes: exit 0, nothing on stderr, valid output or none, and soon.
 *
 * CTXBRIDGE_FUZZ sets how many payloads; the same seed makes the same ones.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import { EVENTS } from "../../src/record/hook-event.ts"
import { ingest } from "../../src/views/ingest.ts"
import { open } from "../../src/views/open.ts"
import { transcriptById } from "../../src/views/transcript-rows.ts"
import { WordWriter } from "../../src/views/word-index.ts"
import { type Ran, run, start } from "../support/binary.ts"
import { contextOf, Machine, pooled, promptsIn } from "../support/machine.ts"
import { syntheticSession } from "../support/session.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const COUNT = Number(process.env["CTXBRIDGE_FUZZ"] ?? 300)
const SEED = Number(process.env["CTXBRIDGE_FUZZ_SEED"] ?? 20_261_121)
const AT_ONCE = 4
/** ms after which Claude Code would kill a hook. */
const SOON = 5000

const NAMES = [...EVENTS, "notification", "post-tool-use", "SessionStart"]

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Values that Claude Code would not write. */
class Nonsense {
  readonly dice: Dice
  readonly #paths: readonly string[]

  constructor(dice: Dice, paths: readonly string[]) {
    this.dice = dice
    this.#paths = paths
  }

  text(): string {
    const { dice } = this
    const length = dice.pick([0, 1, 3, 20, 300, 5000])
    const pieces = dice.pick([
      ["a", " ", "\n"],
      ["\0", "\u0001", "\u001b[31m", "\r"],
      ["🛡️", "👩‍👩‍👧‍👦", "漢", "é", "\u202e", "\ufeff"],
      ["\ud83d", "\udc00", "x"],
      ["../", "/", "~", ".jsonl", "%2e"],
      ["'; DROP TABLE turns; --", '"', "\\", "$HOME", "$(id)", "`id`"],
      ["<system-reminder>", "</ctxbridge-restore>", "<task-notification>"],
      ["__proto__", "constructor", "toString"],
    ])
    let text = ""
    while (text.length < length) text += dice.pick(pieces)
    return text
  }

  value(depth = 0): Json {
    const { dice } = this
    switch (dice.between(0, depth > 3 ? 5 : 7)) {
      case 0:
        return null
      case 1:
        return dice.chance(0.5)
      case 2:
        return dice.pick([0, -0, -1, 1.5, 1e308, -1e-308, 2 ** 53, 2 ** 63])
      case 3:
        return dice.pick(this.#paths)
      case 4:
      case 5:
        return this.text()
      case 6:
        return Array.from({ length: dice.between(0, 5) }, () => this.value(depth + 1))
      default: {
        const object: { [key: string]: Json } = {}
        for (let n = dice.between(0, 4); n > 0; n--) object[this.text().slice(0, 20)] = this.value(depth + 1)
        return object
      }
    }
  }

  /** A valid document with something wrong in it, in up to three places. */
  object(valid: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const { dice } = this
    const object = { ...valid }
    const keys = Object.keys(object)
    for (let n = dice.between(0, 3); n > 0; n--) {
      const key = dice.pick(keys)
      const what = dice.between(0, 9)
      if (what < 3) delete object[key]
      else if (what < 5) object[this.text().slice(0, 30)] = this.value()
      else object[key] = this.value()
    }
    return object
  }

  /** What stands on stdin: mostly such a document, sometimes something that is none. */
  bytes(valid: Readonly<Record<string, unknown>>): Uint8Array {
    const { dice } = this
    const text = JSON.stringify(this.object(valid))
    switch (dice.between(0, 15)) {
      case 0:
        return Buffer.from(text.slice(0, dice.between(0, text.length)))
      case 1:
        return Buffer.from(`[${text}]`)
      case 2:
        return Buffer.from(text + text)
      case 3:
        return Buffer.from(JSON.stringify(this.value()))
      case 4:
        return Buffer.from(Array.from({ length: dice.between(0, 4000) }, () => dice.between(0, 255)))
      case 5:
        return Buffer.from(`${"[".repeat(20_000)}${text}`)
      case 6:
        return Buffer.from(`${'{"a":'.repeat(5000)}${text}${"}".repeat(5000)}`)
      case 7:
        return Buffer.from(text, "utf16le")
      case 8:
        return Buffer.from(`\ufeff\n  ${text}  \n\n`)
      case 9: {
        const bytes = Buffer.from(text)
        for (let n = 0; n < 5; n++) bytes[dice.between(0, bytes.length - 1)] = dice.between(0, 255)
        return bytes
      }
      case 10:
        return Buffer.from(text.replace(/"prompt":"/, `"prompt":"${"long 語 ".repeat(100_000)}`))
      default:
        return Buffer.from(text)
    }
  }
}

function goldenPayloads(): Record<string, unknown>[] {
  const folder = join(import.meta.dir, "..", "golden", "hooks")
  return readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map(
      (name) =>
        (JSON.parse(readFileSync(join(folder, name), "utf8")) as { stdin: Record<string, unknown> }).stdin,
    )
}

/** The contract of DESIGN: never a block, never an error, never anything but what the event may print. */
function expectContract(event: string, ran: Ran, what: string): void {
  const { code, stderr, stdout } = ran
  const valid = stdout === "" || (event === "pre-compact" ? stdout.startsWith("ctxbridge: ") : isContext(ran))
  expect({ what, code, stderr, valid }).toEqual({ what, code: 0, stderr: "", valid: true })
}

function isContext(ran: Ran): boolean {
  try {
    const context = contextOf(ran)
    return context !== undefined && context.length <= 9500 && context.isWellFormed()
  } catch {
    return false
  }
}

describe("stdin", () => {
  test(
    `${COUNT} payloads over all events`,
    async () => {
      using machine = new Machine()
      // As users have it.
      delete machine.env["CTXBRIDGE_HOOK_DEADLINE"]
      const goldens = goldenPayloads()
      const sessions = [1, 2, 3].map((n) =>
        machine
          .session()
          .turn(`Never do ${n}.`, [{ tool: "Bash", input: { command: "make" }, output: "ok" }])
          .flush(),
      )
      const paths = [
        ...sessions.map(({ path }) => path),
        "/",
        "/dev/zero.jsonl",
        "/proc/self/mem",
        machine.root,
        `${machine.root}/${"x".repeat(300)}.jsonl`,
        `${"/y".repeat(3000)}.jsonl`,
        "relative.jsonl",
        `${machine.root}/projects/../../../../..${machine.root}/evil.jsonl`,
      ]
      const dice = new Dice(SEED)
      const nonsense = new Nonsense(dice, paths)
      const late: string[] = []
      await pooled(Array.from({ length: COUNT }), AT_ONCE, async (_, n) => {
        const event = dice.pick(NAMES)
        const transcript: Transcript = dice.pick(sessions)
        // A background job for each of them would be another test.
        const golden = dice.pick(
          goldens.filter((stdin) => stdin["hook_event_name"] !== "SessionEnd" || n % 20 === 0),
        )
        const { session: session_id, path: transcript_path } = transcript
        const stdin = nonsense.bytes({ ...golden, session_id, transcript_path, cwd: machine.cwd })
        const options = { stdin, env: machine.env, cwd: machine.cwd }
        const ran = await run(["hook", event], options)
        expectContract(event, ran, `seed ${SEED}, payload ${n}: ${event} ${shown(stdin)}`)
        // Other processes may have held it up: it must be soon at least once.
        const ms = ran.ms > SOON ? Math.min(ran.ms, (await run(["hook", event], options)).ms) : ran.ms
        if (ms > SOON) late.push(`payload ${n}: ${event}, ${Math.round(ms)} ms`)
      })
      expect(late).toEqual([])
      // What was archived meanwhile is sound, and stays where it belongs.
      const names = readdirSync(machine.root, { recursive: true }).map(String)
      expect(names.filter((name) => name.endsWith(".zst") && !name.startsWith("archive/vault/"))).toEqual([])
      using views = machine.views()
      expect(sessions.map(({ session }) => promptsIn(views, session))).toEqual([
        ["Never do 1."],
        ["Never do 2."],
        ["Never do 3."],
      ])
    },
    60_000 + COUNT * 250,
  )

  function shown(stdin: Uint8Array): string {
    const text = Buffer.from(stdin).toString("utf8")
    return text.length > 400 ? `${text.slice(0, 400)}… (${text.length})` : text
  }

  test("may be closed at once, empty or blank", async () => {
    using machine = new Machine()
    for (const event of NAMES) {
      for (const stdin of ["", "\n", "   "]) {
        expect(await run(["hook", event], { stdin, env: machine.env })).toMatchObject({
          code: 0,
          stdout: "",
          stderr: "",
        })
      }
    }
  })

  test("need not be closed: the document counts as soon as it is whole", async () => {
    using machine = new Machine()
    const transcript = machine.session().turn("first. Never touch the generated files.").flush()
    const { child, ended } = start(["hook", "pre-compact"], { env: machine.env })
    child.stdin.write(machine.payload("pre-compact", transcript, { trigger: "auto" }))
    child.stdin.flush()
    const ran = await ended
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toStartWith("ctxbridge: 1 turn ")
    child.stdin.end()
  })

  test("gets no answer at the deadline if it is never closed and never whole", async () => {
    using machine = new Machine()
    for (const part of ["", '{"session_id": "x"', '{"a": {}', "}}}}"]) {
      const { child, ended } = start(["hook", "stop"], { env: machine.env })
      if (part !== "") child.stdin.write(part)
      child.stdin.flush()
      const ran = await ended
      expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
      expect(ran.ms).toBeLessThan(10_000)
      child.stdin.end()
    }
  })

  test("may come late and in pieces", async () => {
    using machine = new Machine()
    const transcript = machine.session().turn("first. Never touch the generated files.").flush()
    const payload = machine.payload("pre-compact", transcript, { trigger: "auto", deep: { a: {}, b: "}" } })
    const { child, ended } = start(["hook", "pre-compact"], { env: machine.env })
    await Bun.sleep(500)
    const third = Math.ceil(payload.length / 3)
    for (let at = 0; at < payload.length; at += third) {
      child.stdin.write(payload.slice(at, at + third))
      child.stdin.flush()
      await Bun.sleep(30)
    }
    const ran = await ended
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toStartWith("ctxbridge: 1 turn ")
    child.stdin.end()
  })

  test("may have 50 MB", async () => {
    using machine = new Machine()
    const transcript = machine.session().turn("first").flush()
    for (const filler of ["x", "語"]) {
      const prompt = filler.repeat((50 << 20) / Buffer.byteLength(filler))
      const ran = await machine.hook("user-prompt-submit", transcript, { prompt })
      expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
      expect(ran.ms).toBeLessThan(10_000)
    }
    expect(await machine.hook("stop", transcript)).toMatchObject({ code: 0, stdout: "", stderr: "" })
    using views = machine.views()
    expect(promptsIn(views, transcript.session)).toEqual(["first"])
  })
})

describe("the transcript", () => {
  test("one line that no host would write costs only itself", () => {
    using machine = new Machine()
    const db = open(machine.dataHome, "write", 0)
    const dice = new Dice(SEED)
    const nonsense = new Nonsense(dice, ["/", "/etc/passwd", `/${"z".repeat(5000)}`, `/${"y/".repeat(3000)}`])
    const lines = syntheticSession().map((line) => line.trimEnd())
    const mutate = (value: unknown): unknown => {
      if (dice.chance(0.12)) return nonsense.value()
      if (Array.isArray(value)) return value.map(mutate)
      if (typeof value !== "object" || value === null) return value
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mutate(inner)]))
    }
    for (let n = 0; n < 300; n++) {
      const broken = lines.map((line) => {
        try {
          return JSON.stringify(mutate(JSON.parse(line)))
        } catch {
          return line
        }
      })
      const last = {
        type: "user",
        uuid: `last-${n}`,
        cwd: "/src/app",
        message: { content: `last prompt of ${n}` },
      }
      const bytes = Buffer.from([...broken, JSON.stringify(last), ""].join("\n"))
      const row = db
        .query<{ id: number }, [string, string, string]>(
          "INSERT INTO transcripts (path, copy, copy_id, session) VALUES ('/x', ?, ?, ?) RETURNING id",
        )
        .get(`copy ${n}`, `id ${n}`, `session ${n}`)
      const transcript = transcriptById(db, row!.id)!
      let error: unknown
      try {
        db.transaction(() => {
          const words = new WordWriter(db)
          ingest(db, transcript, 0, bytes, true, words, machine.dataHome)
          words.flush()
        }).immediate()
      } catch (cause) {
        error = cause
        writeFileSync(join(machine.root, "broken.jsonl"), bytes)
      }
      expect({ n, error }).toEqual({ n, error: undefined })
      expect(promptsIn(db, `session ${n}`).at(-1)).toBe(`last prompt of ${n}`)
    }
    db.close()
  })

  test("the hook's own path takes such lines too, byte for byte", async () => {
    using machine = new Machine()
    const transcript = machine.session()
    const dice = new Dice(SEED)
    const nonsense = new Nonsense(dice, ["/"])
    for (let n = 0; n < 40; n++) {
      transcript.turn(`prompt ${n}`).flush()
      const bytes = Buffer.concat([
        Buffer.from(nonsense.bytes({ type: "user", message: {} })),
        Buffer.from("\n"),
      ])
      writeFileSync(transcript.path, bytes, { flag: "a" })
    }
    const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
    expectContract("pre-compact", ran, "hostile lines")
    using views = machine.views()
    const prompts = promptsIn(views, transcript.session).filter((prompt) => prompt.startsWith("prompt "))
    expect(prompts).toEqual(Array.from({ length: 40 }, (_, n) => `prompt ${n}`))
  })
})
