/** Files beside a transcript: kept byte for byte, found as the output they are, put back, and forgotten with the rest. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"
import { Transcript as Lines } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const long = (word: string, lines = 1500): string =>
  Array.from({ length: lines }, (_, n) =>
    n === lines - 100 ? `${word} broke in step ${n}` : `step ${n} is done`,
  ).join("\n")

/** Name below the session's folder, a word that is only in it, and its content. */
const FILES = [
  ["tool-results/bq7x0a1cd.txt", "zirconium", long("zirconium")],
  ["tool-results/@call@.txt", "praseodymium", `${long("praseodymium")}\n`],
  [
    "tool-results/mcp-tracker-list-1700000000000.json",
    "dysprosium",
    JSON.stringify({ rows: ["dysprosium"] }, null, 2),
  ],
  ["plans/quiet-otter.md", "ytterbium", "# Plan\n\n1. Weigh the ytterbium – zweimal\n"],
  [
    "subagents/agent-a1b2c3.meta.json",
    "thulium",
    '{"agentType":"thulium-finder","description":"look around"}',
  ],
  ["tool-results/mcp-rows.jsonl", "terbium", '{"row":"terbium"}\n{"row":2}\n'],
  ["notes.md", "erbium", "erbium, without a newline"],
] as const
const OTHERS = [
  ["tool-results/picture.png", Buffer.from([0x89, 0x50, 0, 1, 2, 0xff, 0xfe, 10, 13, 0])],
  ["tool-results/empty.txt", Buffer.alloc(0)],
  ["tool-results/huge.txt", Buffer.from(long("lutetium", 60_000))],
] as const

const SECRET = `ghp_${"4f9A".repeat(9)}`

/** A session whose first turn has outputs that are kept outside, and whose last one has none. */
class Beside extends Machine {
  readonly main: Transcript
  readonly folder: string
  readonly files = new Map<string, Buffer>()
  handles: string[] = []

  constructor(start?: number) {
    super()
    this.main = this.session(start === undefined ? {} : { start })
    this.folder = this.path(this.main.session)
    const persisted = (name: string) =>
      `<persisted-output>\nOutput too large (61.2KB). Full output saved to: ${this.folder}/${name}\n\nPreview (first 2KB):\nstep 0\n...\n</persisted-output>`
    this.main.turn("Run everything", [
      { tool: "Bash", input: { command: "make all" }, output: persisted("tool-results/bq7x0a1cd.txt") },
      { tool: "Bash", input: { command: "make check" }, output: persisted("tool-results/@call@.txt") },
      {
        tool: "mcp__tracker__list",
        input: {},
        output: `Error: result (90,000 characters) exceeds maximum allowed tokens. Output has been saved to ${this.folder}/tool-results/mcp-tracker-list-1700000000000.json.`,
      },
    ])
    this.main.turn("And now rest.").flush()
    new Lines({
      session: this.main.session,
      cwd: this.cwd,
      version: "2.1.112",
      agent: "a1b2c3",
      path: join(this.folder, "subagents", "agent-a1b2c3.jsonl"),
    })
      .turn("Look around.", [], "Nothing.")
      .flush()
    const text = readFileSync(this.main.path, "utf8")
    const call = /"tool_use","id":"(toolu_\w+)","name":"Bash","input":\{"command":"make check"/.exec(
      text,
    )![1]!
    writeFileSync(this.main.path, text.replaceAll("@call@", call))
    for (const [name, , content] of FILES) this.add(name.replace("@call@", call), Buffer.from(content))
    for (const [name, content] of OTHERS) this.add(name, content)
    writeFileSync(join(this.root, "elsewhere.txt"), "samarium")
    symlinkSync(join(this.root, "elsewhere.txt"), join(this.folder, "tool-results", "link.txt"))
  }

  add(name: string, content: Buffer): void {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    this.files.set(path, content)
  }

  cli(...args: string[]) {
    return run(args, { env: this.env, cwd: this.cwd })
  }

  async found(word: string, ...args: string[]): Promise<{ handle: string; session: string }[]> {
    const { code, stdout, stderr } = await this.cli("search", word, "--json", ...args)
    expect(stderr).toBe("")
    return code === 3 ? [] : JSON.parse(stdout).hits
  }
}

const WAYS = [
  [
    "hooks",
    async (machine: Beside) => {
      expect(await machine.hook("stop", machine.main)).toMatchObject({ code: 0, stdout: "", stderr: "" })
      // What a hook had no time for.
      await machine.hook("session-end", machine.main, { reason: "other" })
      await machine.idle()
    },
  ],
  [
    "import",
    async (machine: Beside) => {
      const { code, stdout, stderr } = await machine.cli("import")
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expect(stdout).toContain(`2 transcripts and ${machine.files.size} files beside them examined`)
    },
  ],
] as const

describe.each(WAYS)("archived by %s", (_way, archive) => {
  let machine: Beside
  beforeAll(async () => {
    machine = new Beside()
    await archive(machine)
    const shown = await machine.cli("show", machine.main.session, "--json")
    machine.handles = JSON.parse(shown.stdout).turns.map(({ handle }: { handle: string }) => handle)
    expect(machine.handles).toHaveLength(2)
  })
  afterAll(() => machine[Symbol.dispose]())

  test("the vault has every byte, and verify and status count them", async () => {
    for (const [path, content] of machine.files) {
      if (content.length > 0) expect(contentOf(machine.copy(path)).equals(content)).toBe(true)
    }
    expect(existsSync(machine.copy(join(machine.folder, "tool-results", "link.txt")))).toBe(false)
    const { code, stdout, stderr } = await machine.cli("verify", "--json")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const { totals, transcripts } = JSON.parse(stdout)
    expect(totals).toMatchObject({
      transcripts: 2,
      filesBeside: machine.files.size,
      missing: 0,
    })
    for (const one of transcripts) expect(one.state).toBe("complete")
    expect((await machine.cli("verify")).stdout).toContain(
      `2 transcripts and ${machine.files.size} files beside them`,
    )
    expect((await machine.cli("status", "--verbose")).stdout).toContain(" files beside them")
    const status = JSON.parse((await machine.cli("status", "--json")).stdout)
    const { transcripts: counted, filesBeside } = status.totals
    // An empty file has no copy.
    const filled = [...machine.files.values()].filter(({ length }) => length > 0)
    expect({ counted, filesBeside }).toEqual({ counted: 2, filesBeside: filled.length })
  })

  test.each(FILES.map(([name, word]) => [name, word] as const))(
    "%s is found by what it says",
    async (name, word) => {
      const [hit, ...more] = await machine.found(word)
      expect(more).toEqual([])
      // A subagent's belongs to it, if that was known by then.
      if (name.includes("agent-")) expect(hit!.session).toStartWith(machine.main.session)
      else expect(hit!.session).toBe(machine.main.session)
      // Nobody says whose the others are: they came last.
      const isOutput = name.startsWith("tool-results/") && name !== "tool-results/mcp-rows.jsonl"
      if (!name.includes("agent-")) expect(hit!.handle).toBe(machine.handles[isOutput ? 0 : 1]!)
      expect((await machine.cli("search", word)).stdout).toContain(word)
      expect((await machine.cli("show", hit!.handle, "--full")).stdout).toContain(word)
    },
  )

  test("it counts as its tool's output, and not twice", async () => {
    expect(await machine.found("zirconium", "--tool", "Bash")).toHaveLength(1)
    expect(await machine.found("dysprosium", "--tool", "mcp__tracker__list")).toHaveLength(1)
    expect(await machine.found("dysprosium", "--tool", "Bash")).toEqual([])
    const raw = await machine.cli("export", machine.main.session, "--raw")
    expect(raw.stdout).toBe(readFileSync(machine.main.path, "utf8"))
    const turn = await machine.cli("export", machine.handles[0]!, "--raw")
    expect(
      turn.stdout
        .split("\n")
        .filter(Boolean)
        .every((line) => line.startsWith("{")),
    ).toBe(true)
    const json = JSON.parse((await machine.cli("show", machine.handles[0]!, "--json")).stdout)
    const results = JSON.stringify(json).split("zirconium broke in step").length - 1
    expect(results).toBe(1)
    const again = await machine.cli("import")
    expect(again.stdout).toContain("Nothing new")
    expect(await machine.cli("rebuild")).toMatchObject({ code: 0, stderr: "" })
    expect((await machine.found("zirconium"))[0]!.handle).toBe(machine.handles[0]!)
  })

  test("resurrect puts all of them back, where their transcript goes", async () => {
    rmSync(join(machine.home, ".claude", "projects"), { recursive: true })
    const { code, stdout, stderr } = await machine.cli("resurrect", machine.main.session, "--json")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    for (const [path, content] of machine.files)
      if (content.length > 0) expect(readFileSync(path).equals(content)).toBe(true)
    const [{ files, resume }] = JSON.parse(stdout).sessions
    expect(resume).toHaveLength(1)
    expect(files.filter(({ isBeside }: { isBeside: boolean }) => !isBeside)).toHaveLength(2)
    expect(await machine.cli("verify")).toMatchObject({ code: 0, stderr: "" })
  })

  test("frames of them are not sent", async () => {
    const target = join(machine.root, "shared")
    mkdirSync(target)
    expect(await machine.cli("sync", "--to", target, "--frames")).toMatchObject({ code: 0 })
    const sent = readdirSync(target, { recursive: true }).map(String)
    expect(sent.length).toBeGreaterThan(0)
    const text = sent
      .filter((name) => /\.(jsonl|json)$/.test(name))
      .map((name) => readFileSync(join(target, name), "utf8"))
    expect(text.join("\n")).not.toContain("tool-results/bq7x0a1cd.txt.zst")
  })

  test("a text is forgotten in them, and the session with them", async () => {
    expect(await machine.cli("forget", "--match", "zirconium broke", "--yes")).toMatchObject({
      code: 0,
      stderr: "",
    })
    expect(await machine.found("zirconium")).toEqual([])
    const path = join(machine.folder, "tool-results", "bq7x0a1cd.txt")
    const copy = contentOf(machine.copy(path)).toString()
    expect(copy).not.toContain("zirconium")
    expect(copy).toHaveLength(machine.files.get(path)!.length)
    expect(await machine.cli("forget", machine.main.session, "--yes")).toMatchObject({ code: 0, stderr: "" })
    const left = readdirSync(join(machine.dataHome, "vault"), { recursive: true, withFileTypes: true })
    expect(left.filter((one) => one.isFile()).map(({ name }) => name)).toEqual(["copies.jsonl"])
    const list = readFileSync(join(machine.dataHome, "vault", "copies.jsonl"), "utf8")
    expect(list).not.toContain(machine.main.session)
    await machine.hook("stop", machine.main)
    expect(await machine.cli("import")).toMatchObject({ code: 0, stderr: "" })
    for (const path of machine.files.keys()) expect(existsSync(machine.copy(path))).toBe(false)
    for (const [, word] of FILES) expect(await machine.found(word)).toEqual([])
  })
})

test.each(WAYS)("a secret in an output is filtered: %s", async (way, archive) => {
  using machine = new Beside()
  const path = join(machine.folder, "tool-results", "bzzz.txt")
  machine.add("tool-results/bzzz.txt", Buffer.from(`${long("gadolinium")}\nGITHUB_TOKEN=${SECRET}\nend`))
  if (way === "hooks") await archive(machine)
  else expect(await machine.cli("import", "--quiet")).toMatchObject({ code: 0, stderr: "" })
  const content = contentOf(machine.copy(path)).toString()
  expect(content).not.toContain(SECRET)
  expect(content).toContain(`GITHUB_TOKEN=${"*".repeat(SECRET.length)}`)
  expect(await machine.found("gadolinium")).toHaveLength(1)
  expect(await machine.cli("verify")).toMatchObject({ code: 0, stderr: "" })
})

test("redact takes out of them what older rules had left", async () => {
  using machine = new Beside()
  const path = join(machine.folder, "tool-results", "bzzz.txt")
  machine.add("tool-results/bzzz.txt", Buffer.from(`GITHUB_TOKEN=${SECRET}\n`))
  const env = { ...machine.env, CTXBRIDGE_SECRETS: "false" }
  expect(await run(["import", "--quiet"], { env, cwd: machine.cwd })).toMatchObject({ code: 0 })
  expect(contentOf(machine.copy(path)).toString()).toContain(SECRET)
  expect(await machine.cli("redact")).toMatchObject({ code: 0 })
  expect(contentOf(machine.copy(path)).toString()).not.toContain(SECRET)
  expect(await machine.cli("verify")).toMatchObject({ code: 0 })
})

test("an excluded folder's are left out", async () => {
  using machine = new Beside()
  const config = join(machine.home, ".config", "ctxbridge", "config.toml")
  mkdirSync(dirname(config), { recursive: true })
  writeFileSync(config, `[capture]\nexclude = ${JSON.stringify([machine.cwd])}\n`)
  expect(await machine.hook("stop", machine.main)).toMatchObject({ code: 0, stdout: "", stderr: "" })
  expect(await machine.cli("import", "--quiet")).toMatchObject({ code: 0, stderr: "" })
  for (const path of machine.files.keys()) expect(existsSync(machine.copy(path))).toBe(false)
})

test("those of cold turns are found in the vault", async () => {
  using machine = new Beside(Date.now() - 40 * 86_400_000)
  machine.env["CLAUDE_FLOW_RETENTION_DAYS"] = "30"
  await machine.hook("stop", machine.main)
  await machine.hook("session-end", machine.main, { reason: "other" })
  await machine.idle()
  const status = JSON.parse((await machine.cli("status", "--json")).stdout)
  expect(status.index.indexed).toBe(0)
  for (const word of ["zirconium", "praseodymium"]) {
    const hits = await machine.found(word, "--exact")
    expect(hits).toMatchObject([{ cold: true, session: machine.main.session }])
    expect((await machine.cli("show", hits[0]!.handle, "--full")).stdout).toContain(word)
  }
})

test("a session that has moved with them: found once, and put back in one place", async () => {
  using machine = new Beside()
  expect(await machine.cli("import", "--quiet")).toMatchObject({ code: 0, stderr: "" })
  const projects = join(machine.home, ".claude", "projects")
  const [slug] = readdirSync(projects)
  renameSync(join(projects, slug!), join(projects, `${slug}--claude-worktrees-feature`))
  expect(await machine.cli("import", "--quiet")).toMatchObject({ code: 0, stderr: "" })
  expect(await machine.found("zirconium")).toHaveLength(1)
  rmSync(projects, { recursive: true })
  const { code, stdout, stderr } = await machine.cli("resurrect", machine.main.session)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(stdout).toEndWith(`cd ${machine.cwd} && claude --resume ${machine.main.session}\n`)
  expect(readdirSync(projects)).toEqual([slug!])
  for (const [path, content] of machine.files)
    if (content.length > 0) expect(readFileSync(path).equals(content)).toBe(true)
})

test("one that was written anew and shortened comes back whole", async () => {
  using machine = new Beside()
  const path = join(machine.folder, "tool-results", "bq7x0a1cd.txt")
  expect(await machine.cli("import", "--quiet")).toMatchObject({ code: 0, stderr: "" })
  writeFileSync(path, "step 0 is done")
  expect(await machine.cli("import", "--quiet")).toMatchObject({ code: 0, stderr: "" })
  expect(await machine.cli("resurrect", machine.main.session)).toMatchObject({ code: 0, stderr: "" })
  expect(readFileSync(path).equals(machine.files.get(path)!)).toBe(true)
})

test("one hook takes them, without a job, and the next one what has come since", async () => {
  using machine = new Beside()
  rmSync(join(machine.folder, "tool-results", "huge.txt"))
  expect(await machine.hook("stop", machine.main)).toMatchObject({ code: 0, stdout: "", stderr: "" })
  expect(existsSync(machine.copy(join(machine.folder, "tool-results", "bq7x0a1cd.txt")))).toBe(true)
  machine.add("tool-results/blater.txt", Buffer.from("holmium"))
  expect(await machine.hook("stop", machine.main)).toMatchObject({ code: 0, stdout: "", stderr: "" })
  expect(contentOf(machine.copy(join(machine.folder, "tool-results", "blater.txt"))).toString()).toBe(
    "holmium",
  )
})
