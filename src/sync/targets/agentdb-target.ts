/**
 * Keeps entries with `@claude-flow/memory`, from an absolute folder that the user named. The package stores; versions,
 * forgetting and search are ours, and all that is stored is held in memory for that.
 */
import { randomUUID } from "node:crypto"
import { CtxError, messageOf } from "../../base/errors.ts"
import { statsOf } from "../../base/files.ts"
import { closeSync } from "../../base/fs.ts"
import { holdLockFile } from "../../base/lock.ts"
import { join } from "../../base/path.ts"
import { type Entry, type Episode, episodeOf, isEntry, isLater, NAMESPACE, versionOf } from "./entry.ts"
import {
  bestEntries,
  type ForgottenThere,
  isForgottenThere,
  isNamed,
  missing,
  newlyForgotten,
  sentOf,
  sift,
  type VersionThere,
  versionThere,
} from "./entry-rules.ts"
import { mustBeThere, type Target } from "./target.ts"

/** ms to wait for another writer, and between two attempts. */
const WAIT = 10_000
const RETRY = 20

/** The design documents' namespace. Others may keep entries there, too: ours have the tag. */
const ENTRIES = NAMESPACE
const OURS = "ctxbridge"
/** Where earlier versions kept them: what they still write there is read, and what is here they do not touch. */
const FORMER = "ctxbridge"
/** What must not be kept: `id <id>` and `session <id>`. */
const FORGOTTEN = "ctxbridge-forgotten"
const TARGET = "ctxbridge-target"

interface AgentdbPlace {
  /** Of the package, absolute. */
  readonly folder: string
  /** The file that it keeps everything in. */
  readonly file: string
  /** This program. */
  readonly exePath: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** @param isReader whether the file must be there; nothing is written then */
export async function openAgentdbTarget(place: AgentdbPlace, isReader = false): Promise<Target> {
  const { folder, file } = place
  if (statsOf(join(folder, "package.json")) === undefined) {
    throw new CtxError("target-missing", `no package in ${folder}`, {
      hint: "CTXBRIDGE_AGENTDB is the absolute folder of @claude-flow/memory, in node_modules",
    })
  }
  mustBeThere(file, isReader)
  const store = new Store(place)
  try {
    return targetOf(await store.prepare(isReader), store)
  } catch (error) {
    store.close()
    throw error
  }
}

function targetOf(id: string, store: Store): Target {
  return {
    id,

    put: (entries) =>
      store.changing(async (state) => {
        const { fresh, report } = sift(entries, versionIn(state), state)
        const before = fresh.flatMap(({ key }) => state.entries.get(key)?.id ?? [])
        await store.write(before, fresh.map(memoryOf))
        return report
      }),

    find: async (query) => bestEntries((await store.read()).entries.values(), query),

    async get(wanted) {
      for (const entry of (await store.read()).entries.values()) if (isNamed(entry.id, wanted)) return entry
      return undefined
    },

    forget: (what) =>
      store.changing(async (state) => {
        const { ids, sessions } = newlyForgotten(what, state)
        const forgotten = {
          ids: new Set([...state.ids, ...ids]),
          sessions: new Set([...state.sessions, ...sessions]),
        }
        const gone = [...state.entries.values()].filter((entry) =>
          isForgottenThere(versionThere(entry), forgotten),
        )
        const told = [...ids.map((one) => `id ${one}`), ...sessions.map((one) => `session ${one}`)]
        await store.write(
          gone.map((entry) => entry.id),
          told.map((name) => memory(FORGOTTEN, name)),
        )
        return gone.length
      }),

    async stats() {
      const { entries, ids, sessions, damaged } = await store.read()
      const named = new Set([...entries.values()].map(({ metadata }) => metadata.sessionId))
      const forgotten = ids.size + sessions.size
      return { entries: entries.size, sessions: named.size, forgotten, damaged: damaged.length }
    },

    async lacking(sent) {
      const state = await store.read()
      return missing(sent, versionIn(state), state)
    },

    async ownThere(wanted, sessions) {
      const { entries } = await store.read()
      const own = [...entries].filter(([, { metadata }]) => metadata.machine === wanted)
      return sentOf(
        own.map(([key, entry]) => [key, versionThere(entry)]),
        sessions,
      )
    },

    async forgottenThere() {
      const { ids, sessions } = await store.read()
      return ids.size + sessions.size
    },

    mend: () =>
      store.changing(async ({ damaged }) => {
        await store.write(damaged, [])
        return damaged.length
      }),

    async close() {
      store.close()
    },
  }
}

interface State extends ForgottenThere {
  /** By their keys. */
  readonly entries: ReadonlyMap<string, Entry>
  /** The target's id. */
  readonly id: string | undefined
  /** Ids, as the package has them. */
  readonly damaged: readonly string[]
}

const versionIn =
  ({ entries }: State) =>
  (key: string): VersionThere | undefined => {
    const entry = entries.get(key)
    return entry && versionThere(entry)
  }

/** What the file holds, as the package tells it. */
class Store {
  readonly #place: AgentdbPlace
  readonly #child: ReturnType<typeof startAgentdb>
  readonly #answers: AsyncGenerator<string>
  #state: State = stateOf([])

  constructor(place: AgentdbPlace) {
    this.#place = place
    this.#child = startAgentdb(place)
    this.#answers = linesOf(this.#child.stdout)
  }

  /** @returns the target's id */
  async prepare(isReader: boolean): Promise<string> {
    const { id } = await this.read()
    if (id !== undefined) return id
    if (isReader) throw new CtxError("target-missing", `${this.#place.file}: nothing has been sent there yet`)
    return this.changing(async ({ id: found }) => {
      const made = found ?? randomUUID()
      if (found === undefined) await this.write([], [memory(TARGET, made)])
      return made
    })
  }

  async read(): Promise<State> {
    // null: what is stored is the same as before.
    const all = (await this.#ask("read", {})) as readonly StoredMemory[] | null
    if (all !== null) this.#state = stateOf(all)
    return this.#state
  }

  /** Reads and changes while nobody else changes: the package would overwrite what others have written. */
  async changing<T>(work: (state: State) => Promise<T>): Promise<T> {
    const held = await this.#lock()
    try {
      return await work(await this.read())
    } finally {
      closeSync(held)
    }
  }

  /** Returns once it is safe in the file. */
  async write(remove: readonly string[], store: readonly StoredMemory[]): Promise<void> {
    if (remove.length + store.length === 0) return
    await this.#ask("write", { remove, store })
    const gone = new Set(remove)
    const kept = this.#state
    const { entries, ids, sessions, id, damaged } = stateOf(store)
    this.#state = {
      entries: new Map([...[...kept.entries].filter(([, one]) => !gone.has(one.id)), ...entries]),
      ids: new Set([...kept.ids, ...ids]),
      sessions: new Set([...kept.sessions, ...sessions]),
      id: id ?? kept.id,
      damaged: [...kept.damaged.filter((one) => !gone.has(one)), ...damaged],
    }
  }

  close(): void {
    this.#child.stdin.end()
  }

  async #ask(name: "read" | "write", given: object): Promise<unknown> {
    const { folder, file } = this.#place
    this.#child.stdin.write(`${JSON.stringify({ name, given })}\n`)
    await this.#child.stdin.flush()
    const { value: line } = await within(this.#answers.next())
    if (line === undefined) throw broken(folder, await new Response(this.#child.stderr).text())
    const { result, error } = JSON.parse(line) as { result?: unknown; error?: string }
    if (error !== undefined) throw new CtxError("target-failed", `${file}: ${error}`)
    return result
  }

  /** Not waiting in one go: the package's answers must get through. */
  async #lock(): Promise<number> {
    const end = performance.now() + WAIT
    for (;;) {
      const held = holdLockFile(`${this.#place.file}.lock`, 0)
      if (held !== undefined) return held
      if (performance.now() > end)
        throw new CtxError("target-busy", `${this.#place.file}: another machine writes to it`, {
          hint: "try again",
        })
      await Bun.sleep(RETRY)
    }
  }
}

const memory = (namespace: string, content: string): StoredMemory => ({
  id: `${namespace} ${content}`,
  key: content,
  type: "episodic",
  namespace,
  tags: [OURS],
  accessLevel: "private",
  content,
  metadata: {},
  embedding: undefined,
})

/** The package's own shape: its other users see text, metadata and vector, too. */
function memoryOf({ id, key, content, summary, metadata, vector }: Entry): StoredMemory {
  const episode = episodeOf(metadata)
  return {
    id,
    key,
    ...episode,
    tags: [...episode.tags, OURS],
    content,
    metadata: { ...metadata, summary, ...(vector && { vector }) },
    embedding: vector?.values,
  }
}

/** undefined: somebody else's. null: of ours, but not readable. */
function entryIn({
  id,
  key,
  namespace,
  tags,
  content,
  metadata: told,
}: StoredMemory): Entry | null | undefined {
  if (namespace === FORMER) {
    const entry = { id, key, content, ...told }
    return isEntry(entry) ? entry : null
  }
  if (namespace !== ENTRIES || !tags.includes(OURS)) return undefined
  const { summary, vector, ...metadata } = (told ?? {}) as Partial<Pick<Entry, "summary" | "vector">>
  const entry = { id, key, summary, content, metadata, ...(vector && { vector }) }
  return isEntry(entry) ? { ...entry, ...episodeOf(entry.metadata) } : null
}

function stateOf(all: readonly StoredMemory[]): State {
  const entries = new Map<string, Entry>()
  const ids = new Set<string>()
  const sessions = new Set<string>()
  let target: string | undefined
  const damaged: string[] = []
  for (const one of all) {
    const { id, namespace, content } = one
    if (namespace === TARGET) target = content
    else if (namespace === FORGOTTEN) {
      const [, kind, name] = /^(id|session) (.*)$/s.exec(content) ?? []
      if (name !== undefined) (kind === "id" ? ids : sessions).add(name)
    } else {
      const entry = entryIn(one)
      if (entry === null) damaged.push(id)
      if (!entry) continue
      // An earlier version of ctxbridge has put one beside what it does not see.
      const before = entries.get(entry.key)
      const isFirst = before === undefined || isLater(versionOf(entry), versionOf(before))
      if (isFirst) entries.set(entry.key, entry)
      if (before !== undefined) damaged.push(isFirst ? before.id : id)
    }
  }
  // Nor has it taken out what it was told to forget there.
  for (const entry of entries.values()) {
    if (!isForgottenThere(versionThere(entry), { ids, sessions })) continue
    entries.delete(entry.key)
    damaged.push(entry.id)
  }
  return { entries, ids, sessions, id: target, damaged }
}

/** What the package stores. */
interface StoredMemory extends Episode<string> {
  readonly id: string
  readonly key: string
  readonly content: string
  readonly metadata: object | null
  readonly embedding: readonly number[] | undefined
}

/** ms for one request. */
const DEADLINE = 60_000

/**
 * The child: the package in a process of its own, which is this very program as plain Bun, since a compiled binary does not
 * find what a package imports. One request and one answer per line of JSON. Of the package, the store with sql.js is used:
 * `AgentDBBackend` itself keeps everything in memory and finds nothing again in the next process; the store with
 * better-sqlite3 needs a compiler.
 *
 * To write, it copies the file, changes the copy and renames it, because the package writes in place; only who
 * has the lock does so. Without what is removed, a new file is made: what SQLite deletes stays in the file.
 */
const SCRIPT = `
const { createRequire } = await import("node:module")
const { pathToFileURL } = await import("node:url")
const fs = await import("node:fs")
const { stdin, stdout, argv } = process
const [folder, file] = argv.slice(-2)
for (const name of ["log", "info", "warn", "error", "debug"]) console[name] = () => {}
const own = createRequire(folder + "/package.json")
const { createDatabase } = await import(pathToFileURL(folder + "/dist/index.js").href)
const wasmPath = own.resolve("sql.js/dist/sql-wasm.wasm")
const made = file + ".new"
const open = (path) => createDatabase(path, { provider: "sql.js", wasmPath, autoPersistInterval: 0 })
const all = (db) => db.query({ type: "prefix", limit: 1e9, includeExpired: true })
// The package's query fails as a whole if one row cannot be parsed: then they are read one by one, without it.
async function readable(db) {
  try {
    return await all(db)
  } catch (error) {
    const [found] = db.db?.exec?.("SELECT id FROM memory_entries") ?? []
    if (found === undefined) throw error
    const rows = await Promise.all(found.values.map(([id]) => db.get(id).catch(() => null)))
    return rows.filter((row) => row !== null)
  }
}
const stamp = () => { const s = fs.statSync(file, { throwIfNoEntry: false }); return s ? [s.ino, s.size, s.mtimeMs].join() : "" }
const drop = () => fs.rmSync(made, { force: true })
let db, seen, isOwn
async function load(toWrite) {
  const now = stamp()
  const isNew = now !== seen
  if (isNew || (toWrite && !isOwn)) {
    if (toWrite) drop()
    if (toWrite && now) fs.copyFileSync(file, made)
    db = await open(toWrite ? made : file)
    isOwn = toWrite
    seen = now
  }
  return isNew
}
const kept = ({ embedding, ...one }) => ({ ...one, ...(embedding && { embedding: new Float32Array(embedding) }) })
const work = {
  async read() {
    const isNew = await load(false)
    return isNew ? (await readable(db)).map(({ embedding, ...one }) => one) : null
  },
  async write({ remove, store }) {
    await load(true)
    if (remove.length > 0) {
      const gone = new Set(remove)
      const rest = (await all(db)).filter(({ id }) => !gone.has(id))
      drop()
      db = await open(made)
      for (const one of rest) await db.store(one)
    }
    const now = Date.now()
    for (const one of store)
      await db.store({ createdAt: now, updatedAt: now, version: 1,
        references: [], accessCount: 0, lastAccessedAt: now, ...kept(one) })
    fs.writeFileSync(made, "", { mode: 0o600 })
    await db.persist()
    const fd = fs.openSync(made, "r")
    fs.fsyncSync(fd)
    fs.closeSync(fd)
    fs.renameSync(made, file)
    seen = stamp()
    return null
  },
}
const lines = (await import("node:readline")).createInterface({ input: stdin, crlfDelay: Infinity })
for await (const line of lines) {
  let answer
  try {
    const { name, given } = JSON.parse(line)
    answer = { result: await work[name](given) }
  } catch (error) {
    answer = { error: String(error?.message ?? error), code: String(error?.code ?? "") }
  }
  stdout.write(JSON.stringify(answer) + "\\n")
}
`

const startAgentdb = ({ folder, file, exePath, env }: AgentdbPlace) =>
  Bun.spawn([exePath, "--no-env-file", "-e", SCRIPT, folder, file], {
    // Where nobody else has put a file with options for Bun.
    cwd: folder,
    env: { ...env, BUN_BE_BUN: "1" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  })

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let pieces: string[] = []
  for await (const chunk of chunks) {
    const [first, ...others] = decoder.decode(chunk, { stream: true }).split("\n")
    pieces.push(first!)
    for (const other of others) {
      yield pieces.join("")
      pieces = [other]
    }
  }
}

async function within<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_, reject) => {
    const late = new CtxError("target-silent", `@claude-flow/memory: no answer within ${DEADLINE / 1000} s`)
    timer = setTimeout(() => reject(late), DEADLINE)
  })
  try {
    return await Promise.race([work, silence])
  } finally {
    clearTimeout(timer)
  }
}

function broken(folder: string, told: string): CtxError {
  const why = /^error: .*$/m.exec(told)?.[0] ?? messageOf("it ended")
  return new CtxError("target-failed", `@claude-flow/memory in ${folder} cannot be loaded: ${why}`, {
    hint: "tested with 3.0.0-alpha.25; npm install @claude-flow/memory there brings what it needs",
  })
}
