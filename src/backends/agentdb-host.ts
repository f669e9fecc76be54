/**
 * Runs the user's own copy of `@claude-flow/memory` in a process of its own, which is this very program as plain Bun: a
 * compiled binary does not find what a package imports. One request and one answer per line of JSON.
 *
 * Of the package, the store with sql.js is used. `AgentDBBackend` itself keeps everything in memory and finds nothing
 * again in the next process; the store with better-sqlite3 needs a compiler.
 */
import { CtxError, messageOf } from "../util/errors.ts"

/** What the package stores. */
export interface StoredMemory {
  readonly id: string
  readonly key: string
  readonly namespace: string
  readonly content: string
  readonly metadata: object
  readonly embedding: readonly number[] | undefined
}

export interface AgentdbHost {
  /** Everything that is stored; undefined if that is the same as before. */
  read(): Promise<readonly StoredMemory[] | undefined>
  /** Returns once it is safe in the file. */
  write(change: {
    readonly remove: readonly string[]
    readonly store: readonly StoredMemory[]
  }): Promise<void>
  close(): void
}

/** ms for one request. */
const DEADLINE = 60_000

/**
 * The child. To write, it copies the file, changes the copy and renames it, because the package writes in place; only who
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
      await db.store({ type: "episodic", tags: ["ctxbridge"], accessLevel: "private", createdAt: now, updatedAt: now,
        version: 1, references: [], accessCount: 0, lastAccessedAt: now, ...kept(one) })
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

interface HostProgram {
  /** This program. */
  readonly exePath: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** @param folder of the package, absolute */
export function startAgentdb(folder: string, file: string, { exePath, env }: HostProgram): AgentdbHost {
  const child = Bun.spawn([exePath, "--no-env-file", "-e", SCRIPT, folder, file], {
    // Where nobody else has put a file with options for Bun.
    cwd: folder,
    env: { ...env, BUN_BE_BUN: "1" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  })
  const answers = linesOf(child.stdout)
  const asked = async (name: string, given: unknown): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify({ name, given })}\n`)
    await child.stdin.flush()
    const { value: line } = await within(answers.next())
    if (line === undefined) throw broken(folder, await new Response(child.stderr).text())
    const { result, error } = JSON.parse(line) as { result?: unknown; error?: string }
    if (error !== undefined) throw new CtxError("target-failed", `${file}: ${error}`)
    return result
  }
  return {
    read: async () => ((await asked("read", {})) ?? undefined) as readonly StoredMemory[] | undefined,
    write: async (change) => void (await asked("write", change)),
    close() {
      child.stdin.end()
    },
  }
}

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
