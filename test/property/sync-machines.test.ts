/**
 * Three machines that write, continue each other's sessions, forget and sync, in any order: in the end all have the same,
 * byte for byte, and what was forgotten is nowhere at the target.
 */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { openFolderTarget } from "../../src/sync/targets/folder-target.ts"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import type { Target } from "../../src/sync/targets/target.ts"
import { frameContent } from "../../src/vault/frame.ts"
import { isFetchedCopy, vaultFile } from "../../src/vault/layout.ts"
import { tailOf } from "../../src/vault/reader.ts"
import { vaultFiles } from "../../src/vault/vault-files.ts"
import { type FramesOf, openFolderFrames, openPostgresFrames } from "../support/frames-of.ts"
import { Inside, run } from "../support/inside.ts"
import { contentOf } from "../support/machine.ts"
import { NO_VARIABLES, startPglite, type TestServer } from "../support/postgres.ts"
import { tempFolder } from "../support/temp.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(600_000)

const SECRET = "correct horse battery staple"
const NUMBERS = [0, 1, 2] as const
const sessionOf = (n: number): string => `5e551011-0000-4000-8000-00000000000${n}`
const wordOf = (n: number): string => `word${n}x`

const step = fc.record({
  machine: fc.constantFrom(...NUMBERS),
  session: fc.constantFrom(...NUMBERS),
  what: fc.constantFrom(
    ...["turn", "turn", "turn", "grow", "rewind", "forget", "word", "compact", "rebuild", "lost"],
    ...["sync", "sync", "sync", "sync"],
  ),
})

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** What a target holds, unpacked. */
type Look = () => Promise<{
  readonly text: string
  /** Of the entries. */
  readonly contents: string
  readonly pieces: readonly string[]
}>

class Three {
  readonly machines = NUMBERS.map(() => new Inside())
  /** By machine and session: the transcript that it goes on with. */
  readonly transcripts = new Map<string, Transcript>()
  readonly forgotten = new Set<string>()
  /** Words that were taken out, and by whom. */
  readonly words = new Map<string, number>()
  readonly said = new Map<string, string>()
  readonly #target: string

  constructor(target: string, passphrase: string | undefined) {
    this.#target = target
    for (const { root, env } of passphrase === undefined ? [] : this.machines) {
      writeFileSync(join(root, "passphrase"), passphrase!, { mode: 0o600 })
      writeFileSync(join(root, "config.toml"), `[sync]\npassphrase-file = "${join(root, "passphrase")}"\n`)
      Object.assign(env, { CTXBRIDGE_CONFIG: join(root, "config.toml") })
    }
  }

  async cli(machine: number, ...args: string[]): Promise<string> {
    const { env, cwd } = this.machines[machine]!
    const { code, stdout, stderr } = await run(args, { env, cwd })
    expect({ args, code, stdout, stderr }).toEqual({ args, code: 0, stdout, stderr: "" })
    return stdout
  }

  sync(machine: number): Promise<string> {
    return this.cli(machine, "sync", "--to", this.#target, "--frames", "--pull", "--json")
  }

  async play({ machine, session, what }: Step, n: number): Promise<void> {
    const id = sessionOf(session)
    if (what === "sync") await this.sync(machine)
    else if (what === "compact" || what === "rebuild") {
      if (this.#has(machine))
        await this.cli(machine, ...(what === "compact" ? ["optimize", "--frames"] : [what]))
    } else if (what === "lost") this.#loseLedgers(machine)
    else if (what === "forget" || what === "word") await this.#forget(machine, id, what)
    else await this.#write(machine, session, what, n)
  }

  /** All that is known of targets, but for the machine's name there: its files would be nobody's. */
  #loseLedgers(machine: number): void {
    const folder = join(this.machines[machine]!.dataHome, "sync")
    if (!existsSync(folder)) return
    for (const name of readdirSync(folder)) if (name !== "id.txt") rmSync(join(folder, name))
  }

  #has(machine: number): boolean {
    return vaultFiles(this.machines[machine]!.dataHome).length > 0
  }

  async #write(machine: number, session: number, what: string, n: number): Promise<void> {
    const id = sessionOf(session)
    const word = wordOf(n)
    const its = this.transcripts.get(`${machine} ${id}`) ?? (await this.#begun(machine, session))
    if (its === undefined) return
    const marks = (its as { marks?: (string | null)[] }).marks ?? []
    if (what === "grow") its.say(`more ${word}`)
    else {
      if (what === "rewind" && marks.length > 1) its.backTo(marks.at(-1)!)
      Object.assign(its, { marks: [...marks, its.tip] })
      its.turn(`do ${word}`, [
        { tool: "Bash", input: { command: `run ${word}` }, output: "ok ".repeat(n * 50) },
      ])
    }
    this.said.set(word, id)
    await this.machines[machine]!.hook("stop", its.flush())
  }

  /** A session begins on one machine; another one goes on with what it has fetched. */
  async #begun(machine: number, session: number): Promise<Transcript | undefined> {
    const id = sessionOf(session)
    const one = this.machines[machine]!
    const origin = this.machines[session]!
    const path = origin.path(`${id}.jsonl`).replace(origin.home, one.home)
    const options = {
      session: id,
      cwd: origin.cwd,
      version: "2.1.112",
      path,
      start: Date.UTC(2026, 2 + machine, 2),
    }
    const its = new Transcript(options)
    if (machine !== session) {
      const mirrors = vaultFiles(one.dataHome).filter(({ copy }) => isFetchedCopy(copy) && copy.includes(id))
      if (mirrors.length === 0 || this.forgotten.has(id)) return undefined
      if (!existsSync(path)) await this.cli(machine, "resurrect", id)
      // Other lines than those of the others.
      for (let line = 0; line < 1000 * (machine + 1); line++) its.line({})
      its.discard()
      const last = readFileSync(path, "utf8").trimEnd().split("\n").at(-1)!
      its.backTo(JSON.parse(last).uuid)
    }
    this.transcripts.set(`${machine} ${id}`, its)
    return its
  }

  async #forget(machine: number, id: string, what: string): Promise<void> {
    const { dataHome } = this.machines[machine]!
    const held = vaultFiles(dataHome).filter(({ copy }) => copy.includes(id))
    if (held.length === 0) return
    if (what === "forget") {
      await this.cli(machine, "forget", id, "--yes")
      this.forgotten.add(id)
      return
    }
    const text = held.map(({ copy }) => contentOf(vaultFile(dataHome, copy)).toString()).join("\n")
    const word = [...this.said].filter(([, of]) => of === id).findLast(([one]) => text.includes(one))?.[0]
    if (word === undefined) return
    await this.cli(machine, "forget", "--match", word, "--yes")
    this.words.set(word, machine)
  }

  [Symbol.dispose](): void {
    for (const machine of this.machines) machine[Symbol.dispose]()
  }
}

/** Contents by kind, copy's id and session. A machine that has lost its name has sent some under the former one, too. */
function copiesOf({ dataHome }: Inside): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const { copy } of vaultFiles(dataHome)) {
    const file = vaultFile(dataHome, copy)
    const name = isFetchedCopy(copy) ? copy.split("/")[2]! : tailOf(file)!.header.id
    const key = `${isFetchedCopy(copy) ? "fetched" : "own"} ${name} ${copy.match(/5e551011-[0-9a-f-]+/)![0]}`
    found.set(key, [...(found.get(key) ?? []), contentOf(file).toString()])
  }
  return found
}

/** Where others may write, what they add to a turn of the machine's own stands apart from it, without a prompt. */
const promptsOf = async (three: Three, machine: number): Promise<string[]> => {
  if (vaultFiles(three.machines[machine]!.dataHome).length === 0) return []
  const out = await three.cli(machine, "sessions", "--all-projects", "--json")
  const { sessions } = JSON.parse(out) as { sessions: { id: string }[] }
  const prompts: string[] = []
  for (const { id } of sessions) {
    if (three.forgotten.has(id)) continue
    using db = three.machines[machine]!.views()
    const rows = db
      .query<{ prompt: string }, [string]>(
        "SELECT DISTINCT prompt FROM turns WHERE session = ? AND via <> 'none'",
      )
      .all(id)
    prompts.push(...rows.map(({ prompt }) => `${id} ${prompt}`))
  }
  return prompts.sort()
}

async function check(target: string, look: Look, steps: readonly Step[], passphrase?: string): Promise<void> {
  using three = new Three(target, passphrase)
  for (const [n, one] of steps.entries()) await three.play(one, n)
  // Each sees what the one before it has just done; what is taken out reaches the last in the second round.
  for (const _ of NUMBERS) for (const machine of NUMBERS) await three.sync(machine)
  const before = await look()
  for (const machine of NUMBERS) {
    const report = JSON.parse(await three.sync(machine))
    expect(report).toMatchObject({
      stored: 0,
      frames: { pieces: 0, changed: 0 },
      fetched: { pieces: 0, changed: 0, damaged: 0 },
    })
    expect(JSON.parse(await three.cli(machine, "verify", "--json"))).toMatchObject({ ok: true })
  }
  const after = await look()
  expect(after).toEqual(before)
  expect(new Set(after.pieces).size).toBe(after.pieces.length)
  // Of forgotten sessions, nothing is left there; nor of words that were taken out.
  const gone = [...three.said].filter(([word, id]) => three.forgotten.has(id) || three.words.has(word))
  expect(gone.filter(([word]) => after.text.includes(word))).toEqual([])
  // Where nothing was taken out of a session, all that was said in it is there.
  const whole = [...three.said].filter(
    ([, id]) =>
      !three.forgotten.has(id) && ![...three.words.keys()].some((word) => three.said.get(word) === id),
  )
  expect(whole.filter(([word]) => !after.contents.includes(word))).toEqual([])
  // Byte for byte, each machine has what the others archived.
  const all = three.machines.map(copiesOf)
  for (const [owner, copies] of all.entries()) {
    for (const [name, contents] of copies) {
      const [kind, id, session] = name.split(" ") as [string, string, string]
      if (kind !== "own" || three.forgotten.has(session)) continue
      const isFilled = [...three.words.keys()].some((word) => three.said.get(word) === session)
      const shape = (text: string) => (isFilled ? text.length : text)
      for (const [other, theirs] of all.entries()) {
        if (other === owner) continue
        const mirrored = theirs.get(`fetched ${id} ${session}`) ?? []
        const same = mirrored.some((mirror) => shape(mirror) === shape(contents[0]!))
        expect({ owner, other, same }).toEqual({ owner, other, same: true })
      }
    }
  }
  const prompts = await Promise.all(NUMBERS.map((machine) => promptsOf(three, machine)))
  if (three.words.size === 0) for (const one of prompts) expect(one).toEqual(prompts[0]!)
}

const example: Step[] = [
  { machine: 0, session: 0, what: "turn" },
  { machine: 0, session: 0, what: "turn" },
  { machine: 0, session: 0, what: "sync" },
  { machine: 1, session: 0, what: "sync" },
  { machine: 1, session: 0, what: "turn" },
  { machine: 0, session: 0, what: "rewind" },
  { machine: 1, session: 0, what: "sync" },
  { machine: 0, session: 0, what: "compact" },
  { machine: 2, session: 2, what: "turn" },
  { machine: 2, session: 0, what: "sync" },
  { machine: 1, session: 0, what: "word" },
  { machine: 2, session: 0, what: "grow" },
  { machine: 2, session: 2, what: "lost" },
  { machine: 1, session: 2, what: "forget" },
]

/** Another machine goes on with a turn. */
const continued: Step[] = [
  { machine: 2, session: 2, what: "turn" },
  { machine: 2, session: 2, what: "sync" },
  { machine: 1, session: 2, what: "sync" },
  { machine: 1, session: 2, what: "grow" },
]

/** A text is taken out after all that was noted of a target is lost. */
const unnoted: Step[] = [
  { machine: 1, session: 1, what: "grow" },
  { machine: 1, session: 1, what: "sync" },
  { machine: 1, session: 1, what: "lost" },
  { machine: 1, session: 1, what: "word" },
]

const examples: [Step[]][] = [[example], [continued], [unnoted]]

const steps = fc.array(step, { minLength: 6, maxLength: 22 })

test("through a folder", async () => {
  const property = fc.asyncProperty(steps, async (made) => {
    using folder = tempFolder()
    await check(folder.path, async () => folderLook(folder.path), made)
  })
  await fc.assert(property, { numRuns: 12, examples, endOnFailure: true })
})

async function folderLook(root: string): ReturnType<Look> {
  const files = (readdirSync(root, { recursive: true, withFileTypes: true }) ?? []).filter((one) =>
    one.isFile(),
  )
  const lines = files.flatMap((one) => readFileSync(join(one.parentPath, one.name), "utf8").split("\n"))
  const pieces = lines.filter((line) => line.includes('"frame":"')).map((line) => JSON.parse(line))
  return {
    text: [...lines, ...pieces.map(({ frame }) => unpacked(Buffer.from(frame, "base64")))].sort().join("\n"),
    contents: lines
      .filter((line) => line.startsWith('{"id":') && line.includes('"content":'))
      .map((line) => JSON.parse(line).content)
      .sort()
      .join("\n"),
    pieces: pieces.map(({ writer, copy, from }) => `${writer} ${copy} ${from}`).sort(),
  }
}

const unpacked = (frame: Uint8Array): string => Buffer.from(frameContent(frame)).toString("utf8")

let server: TestServer | undefined
afterAll(async () => server?.[Symbol.asyncDispose]())

test("through a server", async () => {
  server = await startPglite({ vectors: false })
  const { address, run: runSql } = server
  const property = fc.asyncProperty(steps, async (made) => {
    await runSql("DROP SCHEMA IF EXISTS ctxbridge CASCADE")
    await check(address, () => serverLook(address), made)
  })
  await fc.assert(property, { numRuns: 4, examples, endOnFailure: true })
})

async function serverLook(address: string): ReturnType<Look> {
  const at = serverAddress(address, NO_VARIABLES)
  return openLook(await openPostgresTarget(at), await openPostgresFrames(at, "looker"))
}

async function openLook(backend: Target, store: FramesOf): ReturnType<Look> {
  try {
    const found = await backend.find({ words: "", limit: 10_000 })
    const entries = await Promise.all(found.map(({ id }) => backend.get(id)))
    const list = await store.list()
    const pieces = await store.get(list)
    const texts = [...entries.map((entry) => entry!.content), ...pieces.map(({ frame }) => unpacked(frame))]
    return {
      text: texts.sort().join("\n"),
      contents: entries
        .map((entry) => entry!.content)
        .sort()
        .join("\n"),
      pieces: list.map(({ writer, copy, from }) => `${writer} ${copy} ${from}`).sort(),
    }
  } finally {
    await backend.close()
    await store.close()
  }
}

test("through an encrypted folder", async () => {
  const property = fc.asyncProperty(steps, async (made) => {
    using folder = tempFolder()
    const root = join(folder.path, "target")
    const look = () =>
      openLook(openFolderTarget(root, "looker", SECRET), openFolderFrames(root, "looker", SECRET))
    await check(root, look, made, SECRET)
    for (const line of (await folderLook(root)).text.split("\n"))
      expect(line).not.toMatch(/word\d+x|5e551011|"frame"/)
  })
  await fc.assert(property, { numRuns: 3, examples, endOnFailure: true })
})
