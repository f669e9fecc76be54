/** What the user wants forgotten is in no file any more, and stays away; killed at any moment, it is finished later. */
import { Database } from "bun:sqlite"
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import { shortIds } from "../../src/cli/render-session.ts"
import { checkCopy } from "../../src/vault/check-copy.ts"
import { emptyTombstone, writeTombstone } from "../../src/vault/tombstones.ts"
import { type Ran, run, start } from "../support/binary.ts"
import { doneIn } from "../support/events.ts"
import { contentOf, Machine, promptsIn } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { filesWith } from "../support/traces.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const WORD = "xylophone-4711"
const OTHER = "harmless words"

const cli = (machine: Machine, ...args: string[]): Promise<Ran> =>
  run(args, { env: machine.env, cwd: machine.cwd })

const well = (ran: Ran): Ran => {
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  return ran
}

const json = async (machine: Machine, ...args: string[]) =>
  JSON.parse(well(await cli(machine, ...args, "--json")).stdout)

const step = (text: string) => ({ tool: "Bash", input: { command: `echo ${text}` }, output: `said ${text}` })

function prompts(machine: Machine, { session }: Transcript): string[] {
  const db = new Database(join(machine.dataHome, "archive.db"), { readonly: true })
  try {
    return promptsIn(db, session)
  } finally {
    db.close()
  }
}

function subagent(machine: Machine, parent: Transcript, agent: string): Transcript {
  const path = machine.path(join(parent.session, "subagents", `agent-${agent}.jsonl`))
  return new Transcript({ session: parent.session, cwd: machine.cwd, version: "2.1.112", path, agent })
}

/** A session with the word in every place where ctxbridge may keep one, and another session that has none of it. */
async function told(machine: Machine) {
  const session = machine.session()
  const other = machine.session()
  session.turn(`first version ${WORD}`).flush()
  well(await machine.hook("stop", session))
  // Claude Code has rewritten it: the former copy is set aside.
  writeFileSync(session.path, "")
  session.turn(`Never say ${WORD}`, [step(WORD)], `I decided on ${WORD}`).flush()
  well(await machine.hook("stop", session))
  const agent = subagent(machine, session, "a1")
    .turn(`agent ${WORD}`, [step(WORD)])
    .flush()
  well(await machine.hook("subagent-stop", session, { agent_transcript_path: agent.path, agent_type: "x" }))
  other.turn(OTHER, [step("hello")]).flush()
  well(await machine.hook("stop", other))
  well(await machine.hook("user-prompt-submit", session, { prompt: `and again ${WORD}` }))
  well(await machine.hook("pre-compact", session, { trigger: "auto" }))
  well(
    await machine.hook("subagent-stop", session, { agent_type: "", last_assistant_message: `sum ${WORD}` }),
  )
  session.boundary().summary(`of ${WORD}`).flush()
  const restored = well(await machine.hook("session-start", session, { source: "compact" }))
  expect(restored.stdout).toContain(WORD)
  const started = well(await machine.hook("session-start", machine.session(), { source: "startup" }))
  expect(started.stdout).toContain("ctxbridge-restore")
  well(await cli(machine, "import"))
  await machine.idle()
  return { session, other, agent }
}

/** In the folder of the archive, the state in it included. */
const traces = (machine: Machine, text = WORD): string[] => filesWith(machine.dataHome, text)

/** Copy, former copy, subagent's copy, database and state file: or the test would prove nothing. */
function expectEverywhere(machine: Machine): void {
  const held = traces(machine).join("\n")
  for (const place of ["01.jsonl.zst", "~1.jsonl.zst", "agent-a1.jsonl.zst", "archive.db", "/sessions/"]) {
    expect(held).toContain(place)
  }
}

function expectWhole(machine: Machine, transcript: Transcript): void {
  expect(contentOf(machine.copy(transcript.path)).equals(readFileSync(transcript.path))).toBe(true)
}

describe("a whole session", () => {
  test("is in no file any more, with subagents and former copies, and stays away", async () => {
    using machine = new Machine()
    const { session, other, agent } = await told(machine)
    expectEverywhere(machine)

    const planned = await json(machine, "forget", session.session.slice(0, 36), "--dry-run")
    expect(planned).toMatchObject({ dryRun: true, sessions: [{ session: session.session, onDisk: 2 }] })
    expect(planned.sessions[0].copies).toHaveLength(3)
    const unsure = await cli(machine, "forget", session.session)
    expect(unsure).toMatchObject({ code: 64, stdout: "" })
    expect(unsure.stderr).toContain("--yes")
    expectWhole(machine, session)

    const { stdout } = well(await cli(machine, "forget", session.session, "--yes"))
    expect(stdout).toContain("Forgot 1 session: 3 copies")
    expect(traces(machine)).toEqual([])
    expectWhole(machine, other)
    expect(prompts(machine, other)).toEqual([OTHER])

    // Claude Code still has it: hooks, import and the job stay away.
    session.turn(`later ${WORD}`).flush()
    agent.turn(`later ${WORD}`).flush()
    for (const event of ["user-prompt-submit", "stop", "session-end"] as const) {
      const ran = await machine.hook(event, session, { prompt: `later ${WORD}`, reason: "clear" })
      expect(well(ran).stdout).toBe("")
    }
    well(await machine.hook("subagent-stop", session, { agent_transcript_path: agent.path, agent_type: "x" }))
    expect(well(await machine.hook("session-start", session, { source: "resume" })).stdout).toBe("")
    const imported = doneIn(well(await cli(machine, "import", "--check", "--json")).stdout)
    expect(imported).toMatchObject({ ok: true, takenBytes: 0 })
    expect(imported.files.filter((file: { forgotten: boolean }) => file.forgotten)).toHaveLength(2)
    await machine.idle()
    expect(traces(machine)).toEqual([])
    expect(existsSync(machine.copy(session.path))).toBe(false)
    const verified = await json(machine, "verify")
    expect(verified).toMatchObject({ ok: true, totals: { forgotten: 2, missing: 0, damaged: 0 } })
    expect(await json(machine, "status")).toMatchObject({
      lastError: null,
      totals: { sessions: 1 },
      forgotten: { sessions: 1, unfinished: 0 },
    })
    expect(well(await cli(machine, "status", "--verbose")).stdout).toContain("1 session, whole or in part")
  })

  test("can be listed, forgotten twice, and archived again", async () => {
    using machine = new Machine()
    const session = machine.session().turn(WORD).flush()
    well(await cli(machine, "import"))
    well(await cli(machine, "forget", session.session, "-y"))
    well(await cli(machine, "forget", session.session, "-y"))
    const listed = await json(machine, "forget", "--list")
    expect(listed).toMatchObject({ forgotten: [{ session: session.session, whole: true }], unfinished: [] })
    expect(listed.forgotten[0].transcripts).toEqual([session.path])
    well(await cli(machine, "forget", "--undo", session.session))
    expect(await cli(machine, "forget", "--undo", session.session)).toMatchObject({ code: 3, stdout: "" })
    well(await cli(machine, "import"))
    expectWhole(machine, session)
    expect(prompts(machine, session)).toEqual([WORD])
  })

  test("a subagent can be forgotten alone", async () => {
    using machine = new Machine()
    const { session, agent } = await told(machine)
    const { stdout } = well(await cli(machine, "forget", `${session.session}/a1`, "--yes"))
    expect(stdout).toContain("1 copy")
    expect(existsSync(machine.copy(agent.path))).toBe(false)
    well(await cli(machine, "import"))
    expect(existsSync(machine.copy(agent.path))).toBe(false)
    expectWhole(machine, session)
  })

  test("says which sessions were forked from it, and keep its messages", async () => {
    using machine = new Machine()
    const session = machine.session().turn(WORD).flush()
    well(await cli(machine, "import"))
    const fork = machine.session()
    mkdirSync(dirname(fork.path), { recursive: true })
    writeFileSync(fork.path, readFileSync(session.path))
    fork.turn("more").flush()
    well(await cli(machine, "import"))
    const done = await json(machine, "forget", session.session, "--yes")
    expect(done).toMatchObject({ forkedFrom: [fork.session], deleted: [expect.any(String)] })
    expect(prompts(machine, fork)).toEqual([WORD, "more"])
  })
})

test("all sessions of a project are forgotten, and none of another", async () => {
  using machine = new Machine()
  const folder = join(machine.root, "secret-project")
  mkdirSync(folder)
  const inside = [1, 2].map(() => machine.session({ cwd: folder }).turn(WORD).flush())
  const outside = machine.session().turn(OTHER).flush()
  well(await cli(machine, "import"))
  const { stdout } = well(await run(["forget", ".", "--yes"], { env: machine.env, cwd: folder }))
  expect(stdout).toContain("Forgot 2 sessions")
  expect(traces(machine)).toEqual([])
  for (const one of inside) expect(existsSync(machine.copy(one.path))).toBe(false)
  expectWhole(machine, outside)
  const again = await run(["forget", folder, "--yes"], { env: machine.env, cwd: machine.cwd })
  expect(again).toMatchObject({ code: 3, stdout: "" })
})

describe("a text", () => {
  test("is replaced by as many bytes everywhere, and stays away when its lines come again", async () => {
    using machine = new Machine()
    const { session, other, agent } = await told(machine)
    const before = readFileSync(session.path, "utf8")
    const planned = await json(machine, "forget", "--match", WORD, "--dry-run")
    expect(planned.places).toBeGreaterThan(10)
    expectEverywhere(machine)
    well(await cli(machine, "forget", "--match", WORD, "--yes"))
    expect(traces(machine)).toEqual([])

    const wanted = before.replaceAll(WORD, "*".repeat(WORD.length))
    expect(contentOf(machine.copy(session.path)).toString()).toBe(wanted)
    expect(checkCopy(machine.copy(session.path), undefined)).toMatchObject({ damage: [] })
    expectWhole(machine, other)
    expect(prompts(machine, session)).toContain(`Never say ${"*".repeat(WORD.length)}`)
    expect(await json(machine, "verify")).toMatchObject({ ok: true, totals: { mismatch: 0, missing: 0 } })

    // What comes behind is archived as it is; what was there is not set aside for being different.
    session.turn("and on").flush()
    well(await machine.hook("stop", session))
    expect(contentOf(machine.copy(session.path)).toString()).toStartWith(wanted)
    well(await cli(machine, "import", "--check"))
    expect(traces(machine)).toEqual([])

    // From another inode, and from the first byte on.
    for (const { path } of [session, agent]) {
      writeFileSync(`${path}.new`, readFileSync(path))
      renameSync(`${path}.new`, path)
    }
    session.turn("on again").flush()
    well(await machine.hook("stop", session))
    well(await cli(machine, "import", "--check"))
    expect(readdirSync(dirname(machine.copy(session.path))).filter((name) => /~2/.test(name))).toEqual([])
    expect(traces(machine)).toEqual([])
    expect(await json(machine, "verify")).toMatchObject({ ok: true })
  })

  test("is found however JSON writes it, beside another text, and in a copy that is made anew", async () => {
    using machine = new Machine()
    const text = 'pass "näme"\n\\word'
    const nested = JSON.stringify({ deep: text })
    const session = machine
      .session()
      .turn(`say ${text} now`, [step(nested)], `it was ${text}, and blue`)
      .flush()
    well(await cli(machine, "import"))
    well(await cli(machine, "forget", "--match", text, "--yes"))
    const once = contentOf(machine.copy(session.path)).toString()
    expect(once).not.toContain("näme")
    for (const line of once.trimEnd().split("\n")) JSON.parse(line)
    expect(once.length).toBeLessThanOrEqual(readFileSync(session.path).length)
    well(await cli(machine, "forget", "--match", "and (blue|green)", "--regex", "--yes"))
    const twice = contentOf(machine.copy(session.path))
    expect(twice.toString()).not.toContain("and blue")
    expect(twice.length).toBe(readFileSync(session.path).length)
    // As if the archive had been lost, but for what is to be forgotten.
    renameSync(join(machine.dataHome, "vault"), join(machine.root, "old-vault"))
    well(await cli(machine, "import"))
    expect(contentOf(machine.copy(session.path)).equals(twice)).toBe(true)
    well(await cli(machine, "optimize", "--frames"))
    expect(contentOf(machine.copy(session.path)).equals(twice)).toBe(true)
  })

  test("can go from one session only, and is refused where the host itself has written it", async () => {
    using machine = new Machine()
    const [one, two] = [machine.session().turn(WORD).flush(), machine.session().turn(WORD).flush()]
    well(await cli(machine, "import"))
    well(await cli(machine, "forget", one.session, "--match", WORD, "--yes"))
    expect(contentOf(machine.copy(one.path)).includes(WORD)).toBe(false)
    expectWhole(machine, two)
    for (const text of ["user", one.session.slice(0, 20), "2026-03"]) {
      const refused = await cli(machine, "forget", "--match", text, "--yes")
      expect(refused).toMatchObject({ code: 64, stdout: "" })
      expect(refused.stderr).toContain("Claude Code itself")
    }
    expectWhole(machine, two)
    for (const pattern of ["(", "x*"]) {
      expect((await cli(machine, "forget", "--match", pattern, "--regex", "--yes")).code).toBe(64)
    }
  })
})

describe("while others work", () => {
  test("hooks that archive the session all the time leave nothing of it", async () => {
    using machine = new Machine()
    const session = machine.session().turn(WORD).flush()
    const other = machine.session().turn(OTHER).flush()
    well(await cli(machine, "import"))
    const hooks = async (): Promise<void> => {
      for (let n = 0; n < 12; n++) {
        session.turn(`${n} ${WORD}`).flush()
        other.turn(`${n} ${OTHER}`).flush()
        const event = n % 3 === 2 ? "pre-compact" : "user-prompt-submit"
        well(await machine.hook(event, session, { prompt: `${n} ${WORD}`, trigger: "auto" }))
        well(await machine.hook("stop", other))
      }
    }
    const [done] = await Promise.all([cli(machine, "forget", session.session, "--yes"), hooks(), hooks()])
    well(done)
    well(await cli(machine, "import"))
    await machine.idle()
    expect(traces(machine)).toEqual([])
    expectWhole(machine, other)
    expect(await json(machine, "verify")).toMatchObject({ ok: true })
  })

  test("several at once wait for each other, and none undoes what another has forgotten", async () => {
    using machine = new Machine()
    const words = ["alpha-4711", "bravo-4712", "carol-4713"]
    const session = machine.session()
    for (const word of words) session.turn(`say ${word}`).flush()
    const agent = subagent(machine, session, "a1").turn("agent at work").flush()
    well(await cli(machine, "import"))
    const calls = [...words.map((word) => ["--match", word]), [`${session.session}/a1`]]
    const all = await Promise.all(calls.map((call) => cli(machine, "forget", ...call, "--yes")))
    for (const ran of all) expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(all.map(({ stdout }) => stdout).join("")).not.toContain("interrupted")
    const { forgotten } = await json(machine, "forget", "--list")
    expect(forgotten).toMatchObject([{ session: session.session, agents: ["a1"] }])
    // As if the archive had been lost, but for what is to be forgotten.
    renameSync(join(machine.dataHome, "vault"), join(machine.root, "old-vault"))
    well(await cli(machine, "import"))
    const held = contentOf(machine.copy(session.path)).toString()
    for (const word of words) expect(held).not.toContain(word)
    expect(existsSync(machine.copy(agent.path))).toBe(false)
  })

  test("forgetting that was killed at any moment is finished by the next one or the next job", async () => {
    const dice = new Dice(4711)
    for (const way of ["session", "text"] as const) {
      using machine = new Machine()
      const session = machine.session()
      for (let n = 0; n < 300; n++) session.turn(`${n} ${WORD}`, [step(WORD)])
      session.flush()
      const other = machine.session().turn(OTHER).flush()
      well(await cli(machine, "import"))
      const args = way === "session" ? [session.session] : ["--match", WORD]
      for (let n = 0; n < 6; n++) {
        const { child, ended } = start(["forget", ...args, "--yes"], { env: machine.env, cwd: machine.cwd })
        await Bun.sleep(dice.between(0, 150))
        child.kill("SIGKILL")
        await ended
        expect(checkCopy(machine.copy(other.path), undefined)).toMatchObject({ damage: [] })
      }
      const listed = await json(machine, "forget", "--list")
      if (listed.unfinished.length > 0) {
        well(await run(["__job"], { env: machine.env }))
        expect((await json(machine, "forget", "--list")).unfinished).toEqual([])
      }
      const again = await cli(machine, "forget", ...args, "--yes")
      expect(again.code).toBe(0)
      expect(traces(machine)).toEqual([])
      well(await cli(machine, "import", "--check"))
      expect(traces(machine)).toEqual([])
      expectWhole(machine, other)
    }
  })
})

test("what a hook had set aside when it was killed goes, too", async () => {
  using machine = new Machine()
  const { session, other } = await told(machine)
  const shared = join(machine.dataHome, "autopilot-state.json")
  const own = join(machine.dataHome, "sessions", `${session.session}.json`)
  const remembered = { [shared]: { sessionId: session.session, told: WORD }, [own]: { prompt: WORD } }
  for (const [file, content] of Object.entries(remembered))
    writeFileSync(`${file}.old`, JSON.stringify(content))
  well(await cli(machine, "forget", session.session, "--yes"))
  expect(traces(machine)).toEqual([])
  expect(existsSync(`${shared}.old`)).toBe(false)
  expectWhole(machine, other)
})

test("when it is killed between tombstone and deletion, the next job does the rest", async () => {
  using machine = new Machine()
  const { session, other } = await told(machine)
  writeTombstone(machine.dataHome, { ...emptyTombstone(session.session, Date.now()), whole: true })
  writeFileSync(join(machine.dataHome, "forgotten", "unfinished"), JSON.stringify([session.session]))
  expect(well(await cli(machine, "status", "--verbose")).stdout).toContain("1 not finished")
  well(await run(["__job"], { env: machine.env }))
  expect(traces(machine)).toEqual([])
  expectWhole(machine, other)
  expect(prompts(machine, other)).toEqual([OTHER])
  expect(await json(machine, "forget", "--list")).toMatchObject({
    unfinished: [],
    forgotten: [{ whole: true }],
  })
})

describe("forget --older-than", () => {
  test("forgets whole sessions that have been silent for long, and no younger ones", async () => {
    using machine = new Machine()
    const old = machine.session().turn(WORD).flush()
    well(await cli(machine, "import"))
    const young = machine.session()
    young.line({
      type: "user",
      message: { role: "user", content: OTHER },
      timestamp: new Date().toISOString(),
    })
    young.flush()
    well(await cli(machine, "import"))
    const planned = await json(machine, "forget", "--older-than", "30d", "--dry-run")
    expect(planned).toMatchObject({ dryRun: true, sessions: [{ session: old.session }] })
    expect(planned.sessions[0].bytes).toBeGreaterThan(0)
    expectWhole(machine, old)
    const { stdout } = well(await cli(machine, "forget", "--older-than", "30d", "--yes"))
    expect(stdout).toContain("Forgot 1 session")
    expect(traces(machine)).toEqual([])
    well(await cli(machine, "import"))
    expect(traces(machine)).toEqual([])
    expectWhole(machine, young)
    expect(well(await cli(machine, "forget", "--older-than", "30d", "--yes")).stdout).toBe(
      "Nothing to forget\n",
    )
    for (const age of ["", "x", "30", "-1d", "0d", "0h"]) {
      expect(await cli(machine, "forget", `--older-than=${age}`, "--yes")).toMatchObject({
        code: 64,
        stdout: "",
      })
    }
  })

  test("names whose they are, the newest last, and each that is pinned; -p narrows to a project", async () => {
    using machine = new Machine()
    const [old, older] = [1, 2].map((n) => {
      const session = machine.session()
      const time = `2026-01-0${5 - n}T10:00:00.000Z`
      session.line({ type: "user", message: { role: "user", content: `${n} ${WORD}` }, timestamp: time })
      return session.flush()
    }) as [Transcript, Transcript]
    well(await cli(machine, "import"))
    well(await cli(machine, "tag", older.session, "--pin"))
    const name = ({ session }: Transcript): string =>
      shortIds([old.session, older.session])[session === old.session ? 0 : 1]!
    const ways = [[], ["-a"], ["-p", machine.cwd]] as const
    for (const way of ways) {
      const { stdout } = well(await cli(machine, "forget", "--older-than", "1d", "--dry-run", ...way))
      const place = way[0] === "-p" ? machine.cwd : "every project"
      expect(stdout).toMatch(
        new RegExp(
          `★ ${name(older)} [^★]*\\(pinned\\) 2 ${WORD}[^★]*${name(old)} [^★]*1 ${WORD}.*\\nWould forget 2 sessions of ${place} \\(1 of them pinned\\): 2 copies`,
          "s",
        ),
      )
    }
    const elsewhere = ["forget", "--older-than", "1d", "--dry-run", "-p", machine.root]
    expect(await cli(machine, ...elsewhere)).toMatchObject({ code: 0, stdout: "Nothing to forget\n" })
    expect(await cli(machine, "forget", old.session, "-a", "--dry-run")).toMatchObject({
      code: 64,
      stdout: "",
    })
    // One letter is as near to any other one: -y was offered.
    const refused = await cli(machine, "forget", "--older-than", "1d", "-x", "--yess")
    expect(refused).toMatchObject({ code: 64, stdout: "" })
    expect(refused.stderr).not.toContain("mean")
    const typo = await cli(machine, "forget", "--older-than", "1d", "--yess")
    expect(typo).toMatchObject({ code: 64, stdout: "" })
    expect(typo.stderr).not.toContain("mean")
  })

  test.each(["the views", "the list of the vault"])("also those that only %s know any more", async (who) => {
    using machine = new Machine()
    const old = machine.session().turn(WORD).flush()
    const then = Date.now() / 1000 - 60 * 86_400
    well(await cli(machine, "import"))
    utimesSync(machine.copy(old.path), then, then)
    well(await cli(machine, "rebuild"))
    for (const file of [old.path, machine.copy(old.path)]) rmSync(file)
    rmSync(join(machine.dataHome, who === "the views" ? "vault/copies.jsonl" : "archive.db"))
    await cli(machine, "rebuild")
    const planned = await json(machine, "forget", "--older-than", "30d", "--dry-run")
    expect(planned).toMatchObject({ sessions: [{ session: old.session, copies: [] }] })
    const older = await json(machine, "forget", "--older-than", "90w", "--dry-run")
    expect(older).toMatchObject({ sessions: [] })
    const { stdout } = well(await cli(machine, "forget", "--older-than", "30d", "--yes"))
    expect(stdout).toContain("Forgot 1 session")
    expect(traces(machine)).toEqual([])
    expect(well(await cli(machine, "verify")).stdout).not.toContain("lost")
    const again = well(await cli(machine, "forget", "--older-than", "30d", "--yes"))
    expect(again.stdout).toBe("Nothing to forget\n")
  })
})

test("what is not there or not clear is refused", async () => {
  using machine = new Machine()
  expect((await cli(machine, "forget", "5e55", "--yes")).code).toBe(3)
  for (let n = 0; n < 2; n++) machine.session().turn(OTHER).flush()
  well(await cli(machine, "import"))
  const ambiguous = await cli(machine, "forget", "5e55", "--yes")
  expect(ambiguous).toMatchObject({ code: 64, stdout: "" })
  expect(ambiguous.stderr).toContain("names 2 things")
  expect(await cli(machine, "forget", "nosuch", "--yes")).toMatchObject({ code: 3, stdout: "" })
  for (const args of [[], ["--regex"], ["--list", "5e55"], ["--list", "--undo", "x"]]) {
    expect(await cli(machine, "forget", ...args)).toMatchObject({ code: 64, stdout: "" })
  }
  const none = well(await cli(machine, "forget", "--match", "nowhere at all", "--yes"))
  expect(none.stdout).toBe("Not found in the vault\n")
})
