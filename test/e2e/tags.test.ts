/** Tags, pins and verdicts: what a person says of sessions and turns, and everywhere it is told from then on. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { CLOSE } from "../../src/record/our-marks.ts"
import { type Ran, run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { limit } from "../support/slowness.ts"
import { runAtTerminal } from "../support/terminal.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const POLL =
  "I chose polling every five seconds rather than a websocket because the proxy drops idle connections."
const FETCH = "I chose fetch rather than axios because it needs no package."

const well = (ran: Ran): string => {
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  return ran.stdout
}

class Desk extends Machine {
  readonly cli = (...args: string[]): Promise<Ran> => run(args, { env: this.env, cwd: this.cwd })
  readonly ok = async (...args: string[]): Promise<string> => well(await this.cli(...args))
  // biome-ignore lint/suspicious/noExplicitAny: what is in it is what is tested
  readonly json = async (...args: string[]): Promise<any> => JSON.parse(await this.ok(...args, "--json"))
  readonly file = join(this.dataHome, "labels.json")

  async handle(words: string): Promise<string> {
    const { hits } = await this.json("search", words)
    return hits[0].handle
  }

  /** Two sessions; the first decides two things. */
  async filled(): Promise<[Transcript, Transcript]> {
    const first = this.session({ start: Date.UTC(2026, 2, 2, 8) })
      .turn("How does the client learn of new orders?", [], POLL)
      .turn("Which client library is it?", [], FETCH)
      .flush()
    const second = this.session({ start: Date.UTC(2026, 2, 3, 8) })
      .turn("Paint the kiln green", [], "Green it is.")
      .flush()
    for (const one of [first, second]) well(await this.hook("stop", one))
    return [first, second]
  }
}

describe("labels", () => {
  const desk = new Desk()
  let [first, second]: Transcript[] = []
  let poll = ""
  beforeAll(async () => {
    ;[first, second] = await desk.filled()
    poll = await desk.handle("polling websocket")
  })
  afterAll(() => desk[Symbol.dispose]())

  test("are put on, told, found by, and taken off again", async () => {
    const id = first!.session
    expect(await desk.ok("tag", id, "Release", "#api", "--dry-run")).toBe(
      `session ${id.slice(0, 8)} would have: #release · #api\n`,
    )
    expect(existsSync(desk.file)).toBe(false)
    expect(await desk.ok("tag", id, "Release", "#api")).toBe(`session ${id.slice(0, 8)}: #release · #api\n`)
    expect(await desk.ok("tag", poll, "orders")).toBe(`${poll}: #orders\n`)
    expect(statSync(desk.file).mode & 0o777).toBe(0o600)
    const { sessions } = await desk.json("sessions", "--tag", "API")
    expect(sessions).toMatchObject([{ id, label: { tags: ["release", "api"], pinned: false } }])
    expect((await desk.json("sessions", "--tag", "orders")).sessions).toMatchObject([{ id }])
    const { hits } = await desk.json("search", "--tag", "orders")
    expect(hits).toMatchObject([{ handle: poll, label: { tags: ["orders", "release", "api"] } }])
    expect((await desk.json("search", "fetch", "--tag", "release")).hits).toHaveLength(1)
    expect(await desk.cli("search", "kiln", "--tag", "release")).toMatchObject({ code: 3, stdout: "" })
    expect(await desk.cli("search", "kiln", "--tag", "nobody")).toMatchObject({
      code: 3,
      stderr: "ctxbridge: nothing is tagged nobody\nhint: ctxbridge tag -a lists all tags\n",
    })
    expect(await desk.ok("sessions")).toContain("(#release #api) ")
    // Whose they are is told also when all are of one project.
    expect((await desk.ok("sessions", "-a")).split(/\n(?=\w)/)[0]).toContain("project")
    expect((await desk.ok("sessions")).split(/\n(?=\w)/)[0]).not.toContain("project")
    expect(await desk.ok("show", id)).toContain("#orders")
    expect(await desk.ok("__complete", "tag", "o")).toBe("orders\t1 label\n")
    expect(await desk.ok("tag", id, "api", "--remove")).toBe(`session ${id.slice(0, 8)}: #release\n`)
    expect(await desk.ok("tag", id, "nosuch", "--remove")).toBe(
      `session ${id.slice(0, 8)}: #release\nIt had no tag nosuch.\n`,
    )
    expect(await desk.ok("tag", id, "--remove")).toBe(`session ${id.slice(0, 8)}: no labels\n`)
    expect((await desk.json("tag")).labels).toMatchObject([{ handle: poll, tags: ["orders"] }])
    await desk.ok("tag", poll, "--remove")
    expect(existsSync(desk.file)).toBe(false)
  })

  test("a tag that is called like an option says what the option does", async () => {
    expect(await desk.ok("tag", poll, "superseded")).toBe(
      `${poll}: #superseded\n"superseded" is only a tag; --superseded HANDLE says which turn holds instead.\n`,
    )
    expect(await desk.ok("tag", poll, "pin", "--dry-run")).toContain("--pin keeps it on top of lists.\n")
    expect(await desk.ok("tag", poll, "superseded", "--remove")).toBe(`${poll}: no labels\n`)
  })

  test("a pin puts a session on top, wherever it would be", async () => {
    const id = first!.session
    const order = async () => (await desk.json("sessions")).sessions.map((one: { id: string }) => one.id)
    expect(await order()).toEqual([second!.session, id])
    expect(await desk.ok("pin", id)).toBe(`session ${id.slice(0, 8)}: pinned\n`)
    expect(await order()).toEqual([id, second!.session])
    expect((await desk.json("sessions", "-n", "1")).sessions).toMatchObject([{ id, label: { pinned: true } }])
    expect((await desk.json("sessions", "--sort", "last")).sessions[0].id).toBe(second!.session)
    expect(await desk.ok("pin")).toContain("pinned")
    const page = join(desk.root, "pages")
    await desk.ok("open", "--output", page)
    const html = readFileSync(join(page, "index.html"), "utf8")
    expect(html.indexOf("<h2>Pinned ")).toBeGreaterThan(0)
    expect(html.split("<h2>Pinned ")[1]!.split("</section>")[0]).toContain(id)
    expect(readFileSync(join(page, `${id}.html`), "utf8")).toContain("<b>pinned</b>")
    expect(await desk.ok("tag", id, "--unpin")).toContain("no labels")
    expect(await order()).toEqual([second!.session, id])
  })

  test("what cannot be meant is refused, and nothing is written", async () => {
    const calls: [string[], string][] = [
      [["tag", first!.session, "--rejected", "why"], "a decision is a turn's, not a session's"],
      [["tag", poll, "--superseded", poll], "a turn cannot supersede itself"],
      [["tag", poll, "two words"], '"two words" is no tag'],
      [["tag", poll, "--pin", "--unpin"], "--pin and --unpin cannot be used together"],
      [["tag", "--rejected", "why"], "which session or turn?"],
      [["tag", poll, "sk-ant-api03-0123456789abcdef0123456789"], "a tag may not be a secret"],
    ]
    for (const [args, message] of calls) {
      const ran = await desk.cli(...args)
      expect({ args, code: ran.code, stdout: ran.stdout }).toEqual({ args, code: 64, stdout: "" })
      expect(ran.stderr).toStartWith(`ctxbridge: ${message}\n`)
    }
    expect(existsSync(desk.file)).toBe(false)
    expect(await desk.cli("tag")).toMatchObject({ code: 3, stdout: "" })
    writeFileSync(desk.file, '{"labels": [')
    const damaged = await desk.cli("tag", poll, "x")
    expect(damaged).toMatchObject({ code: 1, stdout: "" })
    expect(damaged.stderr).toContain("cannot be read as a list of labels")
    expect(readFileSync(desk.file, "utf8")).toBe('{"labels": [')
    await desk.ok("search", "kiln")
    writeFileSync(desk.file, '{"labels": []}')
  })
})

describe("a decision that does not hold", () => {
  const desk = new Desk()
  let first: Transcript
  let [poll, fetched] = ["", ""]
  beforeAll(async () => {
    ;[first] = await desk.filled()
    poll = await desk.handle("polling websocket")
    fetched = await desk.handle("fetch axios")
  })
  afterAll(() => desk[Symbol.dispose]())

  const restored = async (session: Transcript): Promise<string> => {
    well(await desk.hook("pre-compact", session, { trigger: "auto" }))
    return contextOf(await desk.hook("session-start", session, { source: "compact" })) ?? ""
  }
  const sectionIn = (text: string, title: string): string =>
    text.split(`## ${title}\n`)[1]?.split(/\n## |\n<\//)[0] ?? ""

  test("is told wherever it is quoted, and a restore no longer offers it", async () => {
    await desk.ok("tag", poll, "--rejected", "too slow on ARM: sk-ant-api03-0123456789abcdef0123456789")
    expect(readFileSync(desk.file, "utf8")).not.toContain("0123456789abcdef")
    expect(await desk.ok("show", first.session)).toContain("decided, and no longer holds: I chose polling")
    const shown = await desk.ok("show", poll)
    expect(shown).toContain("rejected: too slow on ARM")
    const [hit] = (await desk.json("search", "polling websocket")).hits
    expect(hit.label).toMatchObject({ verdict: "rejected", byUser: false, by: null })
    await desk.ok("tag", poll, "--rejected", "too slow on ARM")
    await using peer = await Peer.connect(desk.cwd, desk.env)
    for (const [name, args] of [
      ["search", { query: "polling websocket" }],
      ["get", { handle: poll }],
      ["timeline", { of: poll }],
    ] as const) {
      const { text, isError } = await peer.call(name, args)
      expect(isError).toBe(false)
      expect(text).toMatch(/[Mm]arked rejected on \d{4}-\d\d-\d\d: "too slow on ARM"/)
    }
    const instructions = well(await desk.hook("pre-compact", first, { trigger: "auto" }))
    expect(instructions).toContain("fetch rather than axios")
    expect(instructions).not.toContain("polling every five seconds")
    const text = await restored(first)
    expect(sectionIn(text, "Model decisions")).toContain("fetch rather than axios")
    expect(sectionIn(text, "Model decisions")).not.toContain("polling")
    expect(sectionIn(text, "Decisions that no longer hold")).toMatch(
      /polling every five seconds.*\(ctx:\w+; marked rejected on [\d-]+: "too slow on ARM"\)/,
    )
    expect(text).toEndWith(CLOSE)
  })

  test("is the user's word only from a terminal outside of an agent", async () => {
    const names =
      "CLAUDECODE CODEX_CI CODEX_THREAD_ID CURSOR_AGENT COPILOT_CLI AGENT AI_AGENT CLINE_ACTIVE GEMINI_CLI OPENCODE QWEN_CODE"
    for (const name of names.split(" ")) {
      const inAgent = { NO_COLOR: "1", [name]: "1" }
      await runAtTerminal(desk, ["tag", poll, "--superseded", fetched], { env: inAgent })
      const { labels } = await desk.json("tag", poll)
      expect({ name, labels }).toMatchObject({
        labels: [{ verdict: "superseded", by: fetched, byUser: false }],
      })
    }
    const { code } = await runAtTerminal(desk, ["tag", poll, "--superseded", fetched])
    expect(code).toBe(0)
    expect((await desk.json("tag", poll)).labels).toMatchObject([{ by: fetched, note: null, byUser: true }])
    const text = await restored(
      desk
        .session({ id: first.session })
        .turn("How does the client learn of new orders?", [], POLL)
        .turn("Which client library is it?", [], FETCH)
        .turn("Go on", [], "Yes.")
        .flush(),
    )
    expect(sectionIn(text, "Decisions that no longer hold")).toMatch(
      new RegExp(`superseded by the user on [\\d-]+, ${fetched} holds instead\\)`),
    )
    const circle = await desk.cli("tag", fetched, "--superseded", poll)
    expect(circle.stderr).toContain(`${poll} is itself superseded by ${fetched}`)
    expect(await desk.ok("tag", poll, "--holds")).toBe(`${poll}: no labels\n`)
  })

  test("rebuild keeps labels, forget takes those of what is forgotten, and words in them", async () => {
    await desk.ok("tag", poll, "orders", "--superseded", fetched)
    const other = await desk.handle("kiln")
    await desk.ok("tag", other, "--rejected", "the walrus said so")
    await desk.ok("rebuild")
    expect((await desk.json("tag", poll)).labels).toMatchObject([{ handle: poll, tags: ["orders"] }])
    await desk.ok("forget", "--match", "walrus", "--yes")
    expect(readFileSync(desk.file, "utf8")).not.toContain("walrus")
    expect((await desk.json("tag", other)).labels).toMatchObject([{ verdict: "rejected", note: null }])
    await desk.ok("forget", first.session, "--yes")
    const left = readFileSync(desk.file, "utf8")
    expect(left).not.toContain(first.session)
    expect(left).not.toContain(poll.slice(4))
    expect(left).toContain(other)
  })
})

test("what was run, what mended an error, and whose files they are: each with the label of its turn", async () => {
  using desk = new Desk()
  const command = "kiln-fire --cone 9"
  const bash = (output: string, isError = false) => ({
    tool: "Bash",
    input: { command, description: "Fire" },
    output,
    isError,
  })
  const input = { file_path: join(desk.cwd, "kiln.conf"), content: "door = closed\n" }
  const session = desk
    .session()
    .turn("Fire the kiln", [bash("Exit code 1\nError: the kiln door is open", true)])
    .turn("Close its door", [{ tool: "Write", input, output: "ok" }, bash("fired")])
    .flush()
  well(await desk.hook("stop", session))
  const [{ handle, solvedIn }] = (await desk.json("fix", "kiln door is open")).found
  await desk.ok("tag", handle, "kilns")
  await desk.ok("tag", solvedIn, "--rejected", "the door must stay open")
  const label = { verdict: "rejected", note: "the door must stay open", tags: [] }
  expect((await desk.json("fix", "kiln door is open")).found).toMatchObject([
    { label: { tags: ["kilns"], verdict: null }, solutionLabel: label },
  ])
  expect((await desk.json("how", "kiln-fire")).found).toMatchObject([{ handle: solvedIn, label }])
  expect((await desk.json("files", "kiln.conf")).found).toMatchObject([{ handle: solvedIn, label }])
  await using peer = await Peer.connect(desk.cwd, desk.env)
  for (const [kind, about] of [
    ["fix", "kiln door is open"],
    ["how", "kiln-fire"],
    ["files", "kiln.conf"],
  ] as const) {
    expect(await desk.ok(kind, about)).toContain("\n  rejected: the door must stay open\n")
    const { text } = await peer.call("look_up", { kind, about })
    expect(text).toMatch(/marked rejected on \d{4}-\d\d-\d\d: "the door must stay open"/)
  }
})

describe("a restore says when files have changed since", () => {
  const edit = (path: string, text: string) => ({
    tool: "Edit",
    input: { file_path: path, old_string: "a", new_string: text },
    output: "ok",
  })

  test("by what is in them, and by what other sessions did; never that they have not", async () => {
    using desk = new Desk()
    const src = join(desk.cwd, "src")
    mkdirSync(src)
    const [kept, changed, gone] = ["kept.ts", "changed.ts", "gone.ts"].map((name) => join(src, name))
    writeFileSync(kept!, "before\n  export const kept = 1\nafter\n")
    writeFileSync(changed!, "export const changed = 2\n")
    const own = desk
      .session({ start: Date.UTC(2026, 2, 2, 8) })
      .turn("Write the three files", [
        edit(kept!, "export const kept = 1"),
        edit(changed!, "export const changed = 1"),
        edit(gone!, "gone"),
      ])
      .flush()
    well(await desk.hook("stop", own))
    const other = desk
      .session({ start: Date.UTC(2026, 2, 3, 8) })
      .turn("Change one of them", [edit(changed!, "export const changed = 2")])
      .flush()
    well(await desk.hook("stop", other))
    // The views follow.
    await desk.handle("Change one of them")
    well(await desk.hook("pre-compact", own, { trigger: "auto" }))
    const text = contextOf(await desk.hook("session-start", own, { source: "compact" })) ?? ""
    const [turn] = (await desk.json("search", "Write the three files")).hits
    await desk.ok("tag", turn.handle, "files", "--rejected", "one file is enough")
    const blamed = await desk.ok("blame", "src/kept.ts:2")
    expect(blamed).toContain("#files")
    expect(blamed).toContain("rejected: one file is enough")
    expect(await desk.ok("blame", "src/kept.ts")).toContain("rejected: one file is enough")
    const label = { tags: ["files"], verdict: "rejected", note: "one file is enough" }
    expect((await desk.json("blame", "src/kept.ts")).found).toMatchObject([{ label }])
    for (const command of ["blame", "why"])
      expect((await desk.json(command, "src/kept.ts:2")).found).toMatchObject([{ edit: { label } }])
    for (const what of [turn.handle, own.session])
      expect(await desk.ok("export", what)).toMatch(
        /^\*\*\\#files · rejected: one file is enough · \d{4}-\d\d-\d\d\*\*$/m,
      )
    await using peer = await Peer.connect(desk.cwd, desk.env)
    for (const [kind, about] of [
      ["blame", "kept.ts"],
      ["why", "src/kept.ts:2"],
    ] as const)
      expect((await peer.call("look_up", { kind, about })).text).toMatch(
        /marked rejected on [\d-]+: "one file is enough", #files/,
      )
    const files = text.split("## Files in flight\n")[1]!.split("\n## ")[0]!
    expect(files).toMatch(/changed\.ts`.*; changed since\)/)
    expect(files).toMatch(/gone\.ts`.*; gone since\)/)
    expect(files).toMatch(/kept\.ts`: added "export const kept = 1" \(ctx:\w+\)/)
    expect(text).toContain(
      '"Write the three files" → "Answer to: Write the three files", 3 tool calls; 1 of its 3 files changed since',
    )
    expect(text).not.toContain("unchanged")
  })
})
