/**
 * Secrets never reach the disk: hundreds are planted wherever a session can hold them, the compiled binary does all
 * that it does, and then every file is searched.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { doneIn } from "../support/events.ts"
import { contentOf, contextOf, Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { inContext, Noise, privateKey, TOKENS, VALUES } from "../support/planted.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const KINDS = [...TOKENS, ...VALUES]
const machine = new Machine()
afterAll(() => machine[Symbol.dispose]())

let seed = 1
const planted: string[] = []

/** A new secret of each of some kinds, as it is written where it stands. */
function plant(from: number, to: number, encode: (text: string) => string = (text) => text): string {
  return KINDS.slice(from, to)
    .map((kind) => {
      const secret = kind.secret(new Noise(++seed))
      const text = encode(inContext(kind, secret))
      // Where it is encoded, the encoded text is what would tell it.
      planted.push(text.includes(secret) ? secret : encode(secret))
      if (!text.includes(secret)) planted.push(secret)
      return text
    })
    .join(" and\n")
}

const base64 = (text: string): string => Buffer.from(`config ${text} end`).toString("base64")

/** Every file below a folder, those of the vault as what they hold. */
function* filesBelow(folder: string): Generator<{ file: string; text: string }> {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    yield { file, text: (file.endsWith(".zst") ? contentOf(file) : readFileSync(file)).toString("latin1") }
  }
}

const found = (text: string): string[] => planted.filter((secret) => text.includes(secret))

describe("a session full of secrets", () => {
  let session: Transcript
  let restored = ""

  beforeAll(async () => {
    session = machine.session()
    const all = KINDS.length
    const half = all >> 1
    const prompt = `Deploy with these:\n${plant(0, half)}`
    await machine.hook("session-start", session, { source: "startup" })
    await machine.hook("user-prompt-submit", session, { prompt })
    session.turn(
      prompt,
      [
        {
          tool: "Write",
          input: { file_path: "/srv/shop/.env", content: plant(half, all) },
          output: "written",
        },
        { tool: "Read", input: { file_path: "/srv/shop/notes.md" }, output: plant(0, all) },
        {
          tool: "Bash",
          input: { command: `curl '${plant(20, 24)}'` },
          output: `Exit code 1\n${plant(30, 34)}`,
          isError: true,
        },
        { tool: "Bash", input: { command: "cat secret.yaml" }, output: plant(40, 48, base64) },
        {
          tool: "WebFetch",
          input: {
            url: `https://example.com/?next=${encodeURIComponent(`x?password=${plantedPassword()}&n=1`)}`,
          },
          output: "ok",
        },
        { tool: "Bash", input: { command: "cat key.pem" }, output: plantedKey() },
      ],
      `I must never use ${plant(50, 52)} again; decided to use another because it leaked.`,
    )
    session.user(`Mine: <private>${plantedPrivate()}</private> and that is all`).say("Noted.").flush()
    await machine.hook("stop", session)
    await machine.hook("pre-compact", session, { trigger: "auto" })
    await machine.hook("subagent-stop", session, {
      agent_type: "",
      last_assistant_message: `Summary: ${plant(60, 70)}`,
    })
    session
      .boundary()
      .summary(`Summary: ${plant(70, 75)}`)
      .flush()
    restored = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    await machine.hook("session-end", session, { reason: "other" })
    await machine.idle()
  })

  function plantedPassword(): string {
    const secret = new Noise(++seed).alnum(14)
    planted.push(secret)
    return secret
  }

  function plantedKey(): string {
    const { text, lines } = privateKey(new Noise(++seed))
    planted.push(...lines)
    return text
  }

  function plantedPrivate(): string {
    const said = `my diary of\n${new Noise(++seed).alnum(30)}`
    planted.push(said.slice(-30))
    return said
  }

  test("there are at least 200 of 40 kinds in what the host wrote", () => {
    expect(KINDS.length).toBeGreaterThanOrEqual(40)
    expect(planted.length).toBeGreaterThanOrEqual(200)
    expect(found(readFileSync(session.path, "latin1")).length).toBeGreaterThanOrEqual(200)
  })

  test("leaves none in any file of ours: vault, database, log, state", () => {
    const files = [...filesBelow(machine.dataHome)]
    expect(files.some(({ file }) => file.endsWith("archive.db"))).toBe(true)
    expect(files.some(({ file }) => file.includes("/sessions/"))).toBe(true)
    expect(files.flatMap(({ file, text }) => found(text).map((secret) => `${file}: ${secret}`))).toEqual([])
  })

  test("leaves none in what is given back, shown or exported", async () => {
    expect(restored).toContain("ctxbridge-restore")
    expect(found(restored)).toEqual([])
    const options = { cwd: machine.cwd, env: machine.env }
    for (const args of [
      ["show", session.session],
      ["export", session.session],
      ["export", session.session, "--raw"],
      ["sessions", "--json"],
    ]) {
      const { code, stdout, stderr } = await run(args, options)
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" })
      expect(found(stdout)).toEqual([])
    }
  })

  test("leaves none in what the MCP server says", async () => {
    using db = machine.views()
    const handles = db
      .query<{ handle: string }, [string]>("SELECT handle FROM turns WHERE session = ?")
      .all(session.session)
    expect(handles.length).toBeGreaterThan(0)
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const told = [await peer.call("search", { query: "token OR password OR key", limit: 20 })]
    told.push(await peer.call("restore_preview"))
    for (const { handle } of handles) {
      for (let next: string | undefined = `ctx:${handle}@1-`; next !== undefined; ) {
        const got = await peer.call("get", { handle: next, size: 20_000 })
        told.push(got)
        next = /after: get (ctx:\w+@\d+-)/.exec(got.text)?.[1]
      }
    }
    expect(told.filter(({ isError }) => isError)).toEqual([])
    expect(told.length).toBeGreaterThan(handles.length)
    expect(found(told.map(({ text }) => text).join("\n"))).toEqual([])
  })

  test("leaves everything else of each line as it was", () => {
    const before = readFileSync(session.path)
    const after = contentOf(machine.copy(session.path))
    expect(after.length).toBe(before.length)
    let filled = 0
    for (let n = 0; n < before.length; n++) {
      if (after[n] === before[n]) continue
      filled++
      if (after[n] !== 0x2a) throw new Error(`byte ${n} became ${after[n]}`)
    }
    const length = planted.reduce((sum, one) => sum + one.length, 0)
    expect(filled).toBeLessThan(1.5 * length)
    for (const line of after.toString().trimEnd().split("\n")) JSON.parse(line)
    expect(after.toString()).toContain("/srv/shop/notes.md")
    expect(after.toString()).toContain("and that is all")
  })

  test("leaves verify and a second import nothing to do", async () => {
    const options = { cwd: machine.cwd, env: machine.env }
    const verified = await run(["verify", session.path, "--json"], options)
    expect(verified.code).toBe(0)
    expect(JSON.parse(verified.stdout).totals).toMatchObject({ complete: 1, unfiltered: 0, olderRules: 0 })
    const imported = await run(["import", session.path, "--check", "--json"], options)
    expect(imported.code).toBe(0)
    expect(doneIn(imported.stdout).takenBytes).toBe(0)
  })
})

describe("redact", () => {
  const off = { CTXBRIDGE_SECRETS: "false" }

  test("cleans everywhere what was archived without the filter", async () => {
    using old = new Machine()
    const secret = KINDS[0]!.secret(new Noise(77))
    const session = old.session()
    session.turn(`Use ${secret} for it`, [], `I decided to use ${secret} because it works.`).flush()
    await old.hook("user-prompt-submit", session, { prompt: `Use ${secret} for it` }, { env: off })
    await old.hook("session-start", session, { source: "compact" }, { env: off })
    await old.idle()
    const options = { cwd: old.cwd, env: old.env }
    const leaks = (): string[] =>
      [...filesBelow(old.dataHome)].filter(({ text }) => text.includes(secret)).map(({ file }) => file)
    expect(leaks().length).toBeGreaterThan(2)
    writeFileSync(join(old.dataHome, "archive.db.damaged-20260101T000000"), `x ${secret}`)

    const told = await run(["verify", session.path], options)
    expect(told.stdout).toContain("ctxbridge redact")
    const before = leaks()
    const dry = await run(["redact", "--dry-run", "--json"], options)
    expect(dry).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(dry.stdout)).toMatchObject({
      dryRun: true,
      filledBytes: 40,
      damagedDatabases: 1,
      rebuilt: false,
    })
    expect(leaks()).toEqual(before)

    const done = await run(["redact", "--json"], options)
    expect(done).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(done.stdout)).toMatchObject({ ok: true, filledBytes: 40, rebuilt: true })
    expect(leaks()).toEqual([])
    const verified = await run(["verify", session.path, "--json"], options)
    expect(JSON.parse(verified.stdout).totals).toMatchObject({ complete: 1, unfiltered: 0 })
    const again = await run(["redact"], options)
    expect(again).toMatchObject({
      code: 0,
      stderr: "",
      stdout:
        "No copy needs a search: the present rules have filtered them all; --rescan searches them anyway\nNothing to overwrite\n",
    })

    // It goes on where it was.
    session.turn("next").flush()
    await old.hook("stop", session)
    await old.idle()
    expect(contentOf(old.copy(session.path)).length).toBe(readFileSync(session.path).length)
  })

  test("applies a new pattern of the user's with --rescan, and never one of a project's file", async () => {
    using one = new Machine()
    const session = one.session()
    session.turn("Ticket ACME-4711 is urgent").flush()
    writeFileSync(join(one.cwd, ".ctxbridge.toml"), '[secrets]\nenabled = false\npatterns = ["urgent"]\n')
    await one.hook("stop", session)
    await one.idle()
    const file = one.copy(session.path)
    expect(contentOf(file).toString()).toContain("ACME-4711 is urgent")
    const config = join(one.home, ".config", "ctxbridge")
    mkdirSync(config, { recursive: true })
    writeFileSync(join(config, "config.toml"), '[secrets]\npatterns = ["ACME-\\\\d+"]\n')
    const options = { cwd: one.cwd, env: one.env }
    expect(JSON.parse((await run(["redact", "--json"], options)).stdout).filledBytes).toBe(0)
    const done = JSON.parse((await run(["redact", "--rescan", "--json"], options)).stdout)
    expect(done.filledBytes).toBeGreaterThan(0)
    expect(contentOf(file).toString()).toContain("Ticket ********* is urgent")

    writeFileSync(join(config, "config.toml"), '[secrets]\npatterns = ["ACME-\\\\d+", "x*"]\n')
    const problem = 'secrets.patterns: "x*" is not used: it matches the empty text'
    const listed = await run(["config", "list"], options)
    expect(listed.stdout).toContain("Ignored: secrets.patterns (user)")
    session.turn("and ACME-4712 more").flush()
    expect(await one.hook("stop", session)).toMatchObject({ code: 0, stderr: "", stdout: "" })
    await one.idle()
    expect(contentOf(file).toString()).toContain("and ********* more")
    expect(await one.hook("session-start", session, { source: "startup" })).toMatchObject({
      code: 0,
      stderr: "",
    })
    expect(readFileSync(join(one.dataHome, "state", "ctxbridge.log"), "utf8")).toContain(
      "is not used: it matches the empty text",
    )
    for (const words of [["status"], ["status", "--json"], ["import"], ["sessions", "--json"]]) {
      const { code, stdout, stderr } = await run(words, options)
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: `ignored: ${problem}, in ${join(config, "config.toml")}\n`,
      })
      if (words.includes("--json")) JSON.parse(stdout)
    }
    const { stdout } = await run(["doctor"], options)
    expect(stdout).toContain(problem)
  })

  test("says so where there is no archive", async () => {
    using none = new Machine()
    const { code, stderr, stdout } = await run(["redact"], { cwd: none.cwd, env: none.env })
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" })
    expect(stderr).toContain("there is no archive")
    expect(existsSync(none.dataHome)).toBe(false)
  })
})
