/**
 * Keeps entries with `@claude-flow/memory`, from an absolute folder that the user named. The package stores; versions,
 * forgetting and search are ours, and all that is stored is held in memory for that.
 */
import { randomUUID } from "node:crypto"
import { CtxError } from "../util/errors.ts"
import { statsOf } from "../util/files.ts"
import { closeSync } from "../util/fs.ts"
import { holdLockFile } from "../util/lock.ts"
import { dirname, join } from "../util/path.ts"
import { type AgentdbHost, type StoredMemory, startAgentdb } from "./agentdb-host.ts"
import { type Backend, type ForgottenThere, isForgottenThere, isOfAny, nameOfEntry } from "./backend.ts"
import { bestEntries } from "./best-entries.ts"
import { type Entry, isBehind, isEntry, isLater, versionOf } from "./entry.ts"
import { isNamed } from "./entry-filter.ts"

/** ms to wait for another writer, and between two attempts. */
const WAIT = 10_000
const RETRY = 20

const ENTRIES = "ctxbridge"
/** What must not be kept: `id <id>` and `session <id>`. */
const FORGOTTEN = "ctxbridge-forgotten"
const TARGET = "ctxbridge-target"

export interface AgentdbPlace {
  /** Of the package, absolute. */
  readonly folder: string
  /** The file that it keeps everything in. */
  readonly file: string
  readonly exePath: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** @param isReader whether the file must be there; nothing is written then */
export async function openAgentdbBackend(place: AgentdbPlace, isReader = false): Promise<Backend> {
  const { folder, file } = place
  if (statsOf(join(folder, "package.json")) === undefined) {
    throw new CtxError("target-missing", `no package in ${folder}`, {
      hint: "CTXBRIDGE_AGENTDB is the absolute folder of @claude-flow/memory, in node_modules",
    })
  }
  if (statsOf(isReader ? file : dirname(file)) === undefined) {
    throw new CtxError(
      "target-missing",
      `no such ${isReader ? `file: ${file}` : `folder: ${dirname(file)}`}`,
      {
        hint: "is the drive or share mounted?",
      },
    )
  }
  const store = new Store(file, startAgentdb(folder, file, place))
  try {
    return backendOf(await store.prepare(isReader), store)
  } catch (error) {
    store.close()
    throw error
  }
}

function backendOf(id: string, store: Store): Backend {
  return {
    id,

    put: (entries) =>
      store.changing(async (state) => {
        const fresh = new Map<string, Entry>()
        let refused = 0
        for (const entry of entries) {
          const known = fresh.get(entry.key) ?? state.entries.get(entry.key)
          if (isForgottenThere(nameOfEntry(entry), state)) refused++
          else if (known === undefined || isLater(versionOf(entry), versionOf(known)))
            fresh.set(entry.key, entry)
        }
        const stored = [...fresh.values()]
        const before = stored.flatMap(({ key }) => state.entries.get(key)?.id ?? [])
        await store.write(before, stored.map(memoryOf))
        return { stored: stored.length, known: entries.length - stored.length - refused, refused }
      }),

    find: async (query) => bestEntries((await store.read()).entries.values(), query),

    async get(wanted) {
      for (const entry of (await store.read()).entries.values()) if (isNamed(entry.id, wanted)) return entry
      return undefined
    },

    forget: ({ ids = [], sessions = [] }) =>
      store.changing(async (state) => {
        const news = [
          ...ids.filter((one) => !state.ids.has(one)).map((one) => `id ${one}`),
          ...sessions.filter((one) => !state.sessions.has(one)).map((one) => `session ${one}`),
        ]
        const forgotten = {
          ids: new Set([...state.ids, ...ids]),
          sessions: new Set([...state.sessions, ...sessions]),
        }
        const gone = [...state.entries.values()].filter((entry) =>
          isForgottenThere(nameOfEntry(entry), forgotten),
        )
        await store.write(
          gone.map(({ id }) => id),
          news.map((name) => memory(FORGOTTEN, name)),
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
      return [...sent].filter((one) => {
        const there = state.entries.get(one.key)
        return isBehind(there && versionOf(there), one) && !isForgottenThere(one, state)
      })
    },

    async ownThere(wanted, sessions) {
      return [...(await store.read()).entries.values()]
        .filter(({ metadata: { machine, sessionId } }) => machine === wanted && isOfAny(sessionId, sessions))
        .map((entry) => ({ ...nameOfEntry(entry), key: entry.key, messages: entry.metadata.messages }))
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

/** What the file holds, as the package tells it. */
class Store {
  readonly #file: string
  readonly #host: AgentdbHost
  #state: State = stateOf([])

  constructor(file: string, host: AgentdbHost) {
    this.#file = file
    this.#host = host
  }

  /** @returns the target's id */
  async prepare(isReader: boolean): Promise<string> {
    const { id } = await this.read()
    if (id !== undefined) return id
    if (isReader) throw new CtxError("target-missing", `${this.#file}: nothing has been sent there yet`)
    return this.changing(async ({ id: found }) => {
      const made = found ?? randomUUID()
      if (found === undefined) await this.write([], [memory(TARGET, made)])
      return made
    })
  }

  async read(): Promise<State> {
    const all = await this.#host.read()
    if (all !== undefined) this.#state = stateOf(all)
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

  async write(remove: readonly string[], store: readonly StoredMemory[]): Promise<void> {
    if (remove.length + store.length === 0) return
    await this.#host.write({ remove, store })
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
    this.#host.close()
  }

  /** Not waiting in one go: the package's answers must get through. */
  async #lock(): Promise<number> {
    const end = performance.now() + WAIT
    for (;;) {
      const held = holdLockFile(`${this.#file}.lock`, 0)
      if (held !== undefined) return held
      if (performance.now() > end)
        throw new CtxError("target-busy", `${this.#file}: another machine writes to it`, {
          hint: "try again",
        })
      await Bun.sleep(RETRY)
    }
  }
}

const memory = (namespace: string, content: string): StoredMemory => ({
  id: `${namespace} ${content}`,
  key: content,
  namespace,
  content,
  metadata: {},
  embedding: undefined,
})

/** The package's own shape: its other users see text, metadata and vector, too. */
const memoryOf = ({ id, key, content, summary, metadata, vector }: Entry): StoredMemory => ({
  id,
  key,
  namespace: ENTRIES,
  content,
  metadata: { summary, metadata, ...(vector && { vector }) },
  embedding: vector?.values,
})

function stateOf(all: readonly StoredMemory[]): State {
  const entries = new Map<string, Entry>()
  const ids = new Set<string>()
  const sessions = new Set<string>()
  let target: string | undefined
  const damaged: string[] = []
  for (const { id, key, namespace, content, metadata } of all) {
    if (namespace === TARGET) target = content
    else if (namespace === FORGOTTEN) {
      const [, kind, name] = /^(id|session) (.*)$/s.exec(content) ?? []
      if (name !== undefined) (kind === "id" ? ids : sessions).add(name)
    } else if (namespace === ENTRIES) {
      const entry = { id, key, content, ...metadata }
      if (isEntry(entry)) entries.set(key, entry)
      else damaged.push(id)
    }
  }
  return { entries, ids, sessions, id: target, damaged }
}
