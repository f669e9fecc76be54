/** Prompts of sessions that were deleted before anything was archived: Claude Code's list has them. */
import { expect, setDefaultTimeout, test } from "bun:test"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { contentOf, contextOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const GONE = "60000000-0000-4000-8000-000000000001"
const OTHER = "60000000-0000-4000-8000-000000000002"
const START = Date.UTC(2025, 9, 1, 9)

class Home extends Machine {
  readonly list = join(this.home, ".claude", "history.jsonl")
  readonly listCopy = join(this.dataHome, "vault", "history", "home.jsonl.zst")
  #prompts = 0

  /** A prompt as Claude Code notes it. */
  typed(display: string, sessionId: string | undefined, fields: object = {}): void {
    mkdirSync(dirname(this.list), { recursive: true })
    const timestamp = START + 60_000 * this.#prompts++
    const line = { display, pastedContents: {}, timestamp, project: this.cwd, ...fields, sessionId }
    appendFileSync(this.list, `${JSON.stringify(line)}\n`)
  }

  ctx(...args: string[]) {
    return run(args, { env: this.env, cwd: this.cwd })
  }

  async done(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.ctx(...args)
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" })
    return stdout
  }

  async json(...args: string[]) {
    return JSON.parse(await this.done(...args, "--json"))
  }

  exclude(...patterns: string[]): void {
    const config = join(this.home, ".config", "ctxbridge", "config.toml")
    mkdirSync(dirname(config), { recursive: true })
    writeFileSync(config, `[capture]\nexclude = ${JSON.stringify(patterns)}\n`)
  }

  async found(word: string): Promise<string[]> {
    const { code, stdout } = await this.ctx("search", word, "--json", "-a")
    return code === 0 ? JSON.parse(stdout).hits.map((hit: { session: string }) => hit.session) : []
  }
}

test("imported byte for byte, found and marked, and nothing else of them is claimed", async () => {
  using home = new Home()
  home.typed("sew the topgallant", GONE)
  home.typed("/clear", GONE)
  home.typed("now [Pasted text #1 +1 lines]", GONE, {
    pastedContents: { 1: { id: 1, type: "text", content: "the spinnaker" } },
  })
  home.typed("an early word of the mizzen", undefined)
  const session = home.session().turn("Splice the mainbrace", [], "Done.").flush()
  home.typed("Splice the mainbrace", session.session)
  expect(await home.done("import")).toContain("Prompts only, as their transcripts are gone: 2 sessions\n")
  expect(contentOf(home.listCopy)).toEqual(readFileSync(home.list))

  const { hits } = await home.json("search", "topgallant")
  expect(hits).toMatchObject([{ session: GONE, promptsOnly: true, role: "human", seq: 1 }])
  expect(await home.done("search", "topgallant")).toContain("prompts only")
  expect(await home.found("spinnaker")).toEqual([GONE])
  expect(await home.found("mizzen")).toEqual([expect.stringMatching(/^[0-9a-f]{8}-2025-10-01$/)])
  // What is archived anyway is not shown twice, also by a search of the vault.
  expect(await home.found("mainbrace")).toEqual([session.session])
  expect((await home.json("search", "mainbrace", "--cold")).hits).toHaveLength(1)
  expect((await home.json("search", "mainbrace")).hits[0]).not.toHaveProperty("promptsOnly")

  const { sessions } = await home.json("sessions")
  expect(sessions.map((one: { promptsOnly: boolean }) => one.promptsOnly)).toEqual([false, true, true])
  expect(await home.done("sessions")).toContain("(prompts only) sew the topgallant")
  const { totals } = await home.json("status")
  expect(totals).toMatchObject({ sessions: 1, turns: 1, transcripts: 1, projects: 1, messages: 2 })
  expect(await home.done("stats")).toContain("sessions  1 with 1 turn")
  const why = `ctxbridge: only the prompts of session ${GONE} are archived: its transcript was deleted before\nhint: ctxbridge show ${GONE} prints them\n`
  for (const args of [
    ["resume", GONE],
    ["resume", GONE, "--dry-run"],
    ["resume", "topgallant"],
    ["resurrect", GONE],
  ])
    expect(await home.ctx(...args)).toMatchObject({ code: 3, stdout: "", stderr: why })
  expect(await home.ctx("resume", "mainbrace", "--dry-run")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(session.session),
    stderr: expect.stringMatching(/^Splice the mainbrace · .+\n$/),
  })
  expect(await home.done("show", GONE)).toContain("now the spinnaker")
  expect(await home.done("verify")).toContain("All good")
})

test("restores and pointers have nothing of them", async () => {
  using home = new Home()
  home.typed("always sew the topgallant with waxed thread", GONE)
  await home.done("import")
  const started = await home.hook("session-start", home.session(), { source: "startup" })
  expect(contextOf(started) ?? "").not.toContain("topgallant")
  const cleared = await home.hook("session-start", home.session(), { source: "clear" })
  expect(contextOf(cleared) ?? "").not.toContain("topgallant")
  const asked = home.session().turn("Sew the topgallant with waxed thread", [], "Done.").flush()
  await home.hook("stop", asked)
  await home.hook("pre-compact", asked, { trigger: "manual" })
  asked.boundary().flush()
  const compacted = await home.hook("session-start", asked, { source: "compact" })
  expect(contextOf(compacted) ?? "").not.toContain("always sew")
})

test("only what is new is read at the next import, and verify does not call it missing before", async () => {
  using home = new Home()
  home.typed("sew the topgallant", GONE)
  await home.done("import")
  home.typed("reef the spinnaker", OTHER)
  expect(await home.done("verify")).toContain("All good")
  const report = (await home.done("import", "--json"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .at(-1)
  expect(report).toMatchObject({ ok: true, promptsOnly: 2, files: [{ path: home.list }] })
  const [before] = readFileSync(home.list, "utf8").split("\n")
  expect(report.takenBytes).toBe(readFileSync(home.list).length - Buffer.byteLength(`${before}\n`))
  expect(contentOf(home.listCopy)).toEqual(readFileSync(home.list))
  // The list that Claude Code has begun anew.
  writeFileSync(home.list, "")
  home.typed("furl the jib", OTHER)
  await home.done("import")
  for (const [word, session] of [
    ["topgallant", GONE],
    ["spinnaker", OTHER],
    ["jib", OTHER],
  ] as const)
    expect(await home.found(word)).toEqual([session])
  expect(await home.done("verify")).toContain("All good")
})

test("the import of install takes them as well", async () => {
  using home = new Home()
  home.typed("sew the topgallant", GONE)
  const session = home.session().turn("Splice the mainbrace", [], "Done.").flush()
  expect(await home.ctx("install", "--import")).toMatchObject({ code: 0 })
  await home.idle()
  expect(await home.found("topgallant")).toEqual([GONE])
  expect(await home.found("mainbrace")).toEqual([session.session])
})

test("a transcript that comes later takes their place", async () => {
  using home = new Home()
  const session = home
    .session({ id: GONE, start: START })
    .turn("sew the topgallant", [], "Sewn with the awl.")
  home.typed("sew the topgallant", GONE)
  await home.done("import")
  expect((await home.json("search", "topgallant")).hits).toMatchObject([{ session: GONE, promptsOnly: true }])
  session.flush()
  await home.hook("stop", session)
  for (const again of [["status"], ["rebuild"]]) {
    await home.done(...again)
    const { hits } = await home.json("search", "topgallant")
    expect(hits).toHaveLength(1)
    expect(hits[0]).not.toHaveProperty("promptsOnly")
    expect((await home.json("status")).totals).toMatchObject({ sessions: 1, turns: 1 })
  }
  expect(await home.done("resume", GONE, "--dry-run")).toContain(GONE)
})

test.each(["as they are", "without the database"])("a rebuild makes them again, %s", async (how) => {
  using home = new Home()
  home.typed("sew the topgallant", GONE)
  home.typed("an early word of the mizzen", undefined)
  home.typed("Splice the mainbrace", undefined, { timestamp: Date.UTC(2026, 2, 2, 8) })
  home.session().turn("Splice the mainbrace", [], "Done.").flush()
  await home.done("import")
  const before = await home.json("sessions")
  expect(before.sessions).toHaveLength(3)
  if (how !== "as they are") rmSync(join(home.dataHome, "archive.db"))
  await home.done("rebuild")
  expect(await home.json("sessions")).toEqual(before)
})

test("forgetting a session, a text and old sessions takes their prompts, for good", async () => {
  using home = new Home()
  const session = home.session().turn("Splice the mainbrace", [], "Done.").flush()
  home.typed("sew the topgallant", GONE)
  home.typed("/clear", GONE)
  home.typed("reef the spinnaker with the secret knot", OTHER)
  home.typed("Splice the mainbrace", session.session)
  await home.done("import")
  expect(await home.done("forget", GONE, "--yes")).toContain("2 lines of the list of prompts")
  expect(await home.done("forget", "--match", "secret knot", "--yes")).toContain("Replaced 1 place")
  await home.done("forget", session.session, "--yes")
  const gone = /topgallant|secret knot|mainbrace|60000000-0000-4000-8000-000000000001/
  for (const again of [["import"], ["rebuild"], ["import", "--check"]]) {
    await home.done(...again)
    expect(contentOf(home.listCopy).toString()).not.toMatch(gone)
    expect(contentOf(home.listCopy)).toHaveLength(readFileSync(home.list).length)
    for (const word of ["topgallant", "mainbrace", "knot"]) expect(await home.found(word)).toEqual([])
    expect(await home.found("spinnaker")).toEqual([OTHER])
  }
  home.typed("once more the topgallant", GONE)
  await home.done("import")
  expect(await home.found("topgallant")).toEqual([])
  await home.done("forget", "--older-than", "1d", "--yes")
  expect(await home.found("spinnaker")).toEqual([])
  expect(contentOf(home.listCopy).toString()).toMatch(/^[*\n]*$/)
  expect(await home.done("verify")).toContain("All good")
})

test("secrets are filled in it, and found later by redact", async () => {
  using home = new Home()
  const secret = `ghp_${"a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8".slice(0, 36)}`
  home.typed(`push the topgallant with ${secret}`, GONE)
  await home.done("import")
  expect(contentOf(home.listCopy).toString()).not.toContain(secret)
  expect(contentOf(home.listCopy).toString()).toContain("topgallant")
  await home.done("redact", "--rescan")
  expect(await home.found("topgallant")).toEqual([GONE])
  expect(await home.done("verify")).toContain("All good")
})

test("prompts of excluded folders stay out, also those of no folder", async () => {
  using home = new Home()
  home.exclude("/private/**", "/private")
  home.typed("sew the topgallant", GONE)
  home.typed("reef the spinnaker", OTHER, { project: "/private/yard" })
  home.typed("furl the jib", OTHER, { project: undefined })
  await home.done("import")
  expect(await home.found("topgallant")).toEqual([GONE])
  expect(contentOf(home.listCopy).toString()).not.toMatch(/spinnaker|jib/)
  expect(await home.done("verify")).toContain("All good")
})

test("a list that is named, as from a backup; damaged lines cost only themselves", async () => {
  using home = new Home()
  home.typed("sew the topgallant", GONE)
  appendFileSync(home.list, 'no json\n{"display":7}\n\n{"display":"half')
  const backup = join(home.root, "backup", "history.jsonl")
  mkdirSync(dirname(backup))
  writeFileSync(backup, readFileSync(home.list))
  rmSync(home.list)
  await home.done("import", backup)
  expect(await home.found("topgallant")).toEqual([GONE])
  expect(existsSync(home.listCopy)).toBe(false)
  expect(await home.done("verify")).toContain("All good")
})

test.each<[how: string, damage: (copy: string) => void]>([
  ["gone", (copy) => rmSync(copy)],
  [
    "damaged",
    (copy) => {
      const bytes = readFileSync(copy)
      bytes[statSync(copy).size - 200]! ^= 0x04
      writeFileSync(copy, bytes)
    },
  ],
])("a copy that is %s is mended without what is forgotten or excluded", async (_how, damage) => {
  using home = new Home()
  home.exclude("/private")
  home.typed("sew the topgallant", GONE)
  home.typed("reef the spinnaker", OTHER, { project: "/private/yard" })
  home.typed("furl the jib ".repeat(40), OTHER)
  await home.done("import")
  await home.done("forget", GONE, "--yes")
  const before = contentOf(home.listCopy)
  damage(home.listCopy)
  expect(await home.done("import")).toContain("Mended 1 damaged copy")
  expect(contentOf(home.listCopy)).toEqual(before)
  expect(before.toString()).not.toMatch(/topgallant|spinnaker/)
  expect(await home.found("jib")).toEqual([OTHER])
  expect(await home.done("verify")).toContain("All good")
})

/** The transcripts that were sent to a target, and where their copies were. */
function framesAt(target: string): string {
  const files = (readdirSync(target, { recursive: true, withFileTypes: true }) ?? []).filter((one) =>
    one.isFile(),
  )
  const texts = files.map((one) => readFileSync(join(one.parentPath, one.name), "utf8"))
  const frames = texts.flatMap((text) => [...text.matchAll(/"frame":"([^"]+)"/g)].map(([, frame]) => frame!))
  const unpack = (frame: string): string =>
    Buffer.from(Bun.zstdDecompressSync(Buffer.from(frame, "base64"))).toString("utf8")
  const places = texts.flatMap((text) => text.match(/"place":"[^"]+"/g) ?? [])
  return [...places, ...frames.map(unpack)].join("\n")
}

test("the list is neither sent to a target nor fetched from one", async () => {
  using home = new Home()
  using laptop = new Home()
  const target = join(home.root, "target")
  const session = home.session().turn("Splice the mainbrace", [], "Done.").flush()
  home.typed("sew the topgallant", GONE)
  await home.done("import")
  expect(await home.json("sync", "--to", target, "--frames")).toMatchObject({ frames: { copies: 1 } })
  expect(framesAt(target)).toContain("mainbrace")
  expect(framesAt(target)).not.toMatch(/topgallant|history/)
  // As if somebody had sent it nevertheless.
  for (const name of readdirSync(target, { recursive: true }) as string[]) {
    const file = join(target, name)
    if (!statSync(file).isFile()) continue
    const text = readFileSync(file, "utf8")
    if (text.includes('"frame":'))
      writeFileSync(file, text.replace(/"place":"[^"]+"/, '"place":"history/home.jsonl.zst"'))
  }
  expect(framesAt(target)).toContain('"place":"history/home.jsonl.zst"')
  expect(await laptop.json("sync", "--to", target, "--pull")).toMatchObject({
    fetched: { available: 0, copies: 0, pieces: 0 },
  })
  expect(await laptop.found("mainbrace")).toEqual([])
  expect(session.session).not.toBe(GONE)
})

test("what others have sent of such a session takes nothing of the user's own prompts away", async () => {
  using home = new Home()
  using stranger = new Home()
  const target = join(home.root, "target")
  const theirs = stranger.session({ id: GONE, cwd: home.cwd, start: START })
  theirs.line({ type: "ai-title", aiTitle: "A stranger's title", sessionId: GONE })
  theirs.turn("Paint the figurehead", [], "It is painted.").flush()
  await stranger.done("import")
  await stranger.done("sync", "--to", target, "--frames")
  home.typed("sew the topgallant", GONE)
  await home.done("import")
  await home.done("sync", "--to", target, "--pull")
  for (const again of [["status"], ["rebuild"]]) {
    await home.done(...again)
    const { hits } = await home.json("search", "topgallant")
    expect(hits).toMatchObject([{ session: GONE, promptsOnly: true }])
    expect(hits[0]).not.toHaveProperty("others")
    const [painted] = (await home.json("search", "figurehead")).hits
    expect(painted).toMatchObject({ session: GONE, others: true })
    expect(painted).not.toHaveProperty("promptsOnly")
    const { sessions } = await home.json("sessions")
    expect(sessions).toMatchObject([{ id: GONE, title: null, promptsOnly: true }])
  }
  // Its own transcript takes the place of the prompts, and of nothing else.
  const own = home
    .session({ id: GONE, start: START })
    .turn("sew the topgallant", [], "Sewn with the awl.")
    .flush()
  await home.hook("stop", own)
  for (const again of [["status"], ["rebuild"]]) {
    await home.done(...again)
    const { hits } = await home.json("search", "topgallant")
    expect(hits).toHaveLength(1)
    expect(hits[0]).not.toHaveProperty("promptsOnly")
    expect(hits[0]).not.toHaveProperty("others")
    expect((await home.json("search", "figurehead")).hits).toMatchObject([{ session: GONE, others: true }])
    expect((await home.json("sessions")).sessions).toMatchObject([{ id: GONE, promptsOnly: false }])
  }
})

test("a rebuild keeps the project of prompts whose folder is gone", async () => {
  using home = new Home()
  const repository = join(home.root, "yard")
  mkdirSync(join(repository, ".git"), { recursive: true })
  home.typed("sew the topgallant", GONE, { project: join(repository, "sails") })
  await home.done("import")
  const projects = async () =>
    (await home.json("sessions", "--all-projects")).sessions.map((one: { project: string }) => one.project)
  expect(await projects()).toEqual([join(repository, ".git")])
  rmSync(repository, { recursive: true })
  await home.done("rebuild")
  expect(await projects()).toEqual([join(repository, ".git")])
  await home.done("forget", GONE, "--yes")
  await home.done("rebuild")
  expect(await home.ctx("sessions", "--all-projects")).toMatchObject({ code: 3 })
  expect(readFileSync(join(home.dataHome, "archive.db"), "latin1")).not.toContain(repository)
})
