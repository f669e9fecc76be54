/** Keeps entries in a folder: a cloud drive, a network share, a git checkout, a stick. No server, no locks. */

import { parseJson } from "../util/parse-json.ts"
import { join } from "../util/path.ts"
import { type Backend, isOfSession } from "./backend.ts"
import { bestEntries } from "./best-entries.ts"
import { type Entry, isEntry, isLater, isPlainSession, type Version, versionOf } from "./entry.ts"
import {
  currentFile,
  entriesFolder,
  type ForgottenEntries,
  forgottenFile,
  type LineFolder,
  lineFilesIn,
  ownFiles,
  readForgotten,
  removeHalfRewritten,
} from "./entry-files.ts"
import { isNamed } from "./entry-filter.ts"
import { appendLines, type LineSeal, rewriteLines, wholeLines } from "./line-files.ts"
import { type FolderWishes, openFolder, openFolderThere } from "./open-folder.ts"

/**
 * @param root the folder
 * @param writer name of this machine's archive in file names; no two may share it
 * @param passphrase of an encrypted folder
 * @param isReader whether the folder must be there
 */
export function openFolderBackend(
  root: string,
  writer: string,
  passphrase?: string,
  isReader = false,
  wishes: FolderWishes = {},
): Backend {
  const folder = (isReader ? openFolderThere : openFolder)(root, { ...wishes, passphrase })
  const { id, seal, made } = folder
  /** Latest version of each turn in our own files; read when it is first needed, because only we write them. */
  let own: Map<string, Version> | undefined
  /** Whether our files have a version of a turn that has a later one. It may hold what was filled since. */
  let isOutdated = false

  const ownLatest = (): Map<string, Version> => {
    own ??= settle(folder, writer, readForgotten(folder))
    return own
  }

  return {
    id,
    folder: { encrypted: seal !== undefined, made: made ?? null },
    async put(entries) {
      const forgotten = readForgotten(folder)
      const latest = ownLatest()
      const fresh = new Map<string, Entry>()
      let refused = 0
      for (const entry of entries) {
        const before = fresh.get(entry.key)
        const known = before === undefined ? latest.get(entry.key) : versionOf(before)
        if (isDead(entry, forgotten)) refused++
        else if (known === undefined || isLater(versionOf(entry), known)) fresh.set(entry.key, entry)
      }
      const stored = [...fresh.values()]
      isOutdated ||= stored.some(({ key }) => latest.has(key))
      appendLines(
        join(entriesFolder(root), currentFile(entriesFolder(root), writer)),
        stored.map((entry) => JSON.stringify(entry)),
        seal,
      )
      for (const entry of stored) latest.set(entry.key, versionOf(entry))
      return { stored: stored.length, known: entries.length - stored.length - refused, refused }
    },

    async find(query) {
      return bestEntries(latestEntries(folder).entries(), query)
    },

    async get(wanted) {
      for (const entry of latestEntries(folder).entries()) if (isNamed(entry.id, wanted)) return entry
      return undefined
    },

    async forget({ ids = [], sessions = [] }) {
      const before = latestEntries(folder).count
      const known = readForgotten(folder)
      const news = [
        ...ids.filter((id) => !known.ids.has(id)).map((id) => JSON.stringify({ id })),
        ...sessions.filter((one) => !known.sessions.has(one)).map((session) => JSON.stringify({ session })),
      ]
      appendLines(forgottenFile(root, writer), news, seal)
      own = settle(folder, writer, readForgotten(folder))
      return before - latestEntries(folder).count
    },

    async stats() {
      const { ids, sessions } = readForgotten(folder)
      const { count, damaged, misnamed, sessions: named } = latestEntries(folder)
      const forgotten = ids.size + sessions.size
      return { entries: count, sessions: named, forgotten, damaged, ...(misnamed > 0 && { misnamed }) }
    },

    async close() {
      if (isOutdated) settle(folder, writer, readForgotten(folder))
    },
  }
}

const isDead = ({ id, metadata }: Entry, { ids, sessions }: ForgottenEntries): boolean =>
  ids.has(id) || (sessions.size > 0 && [...sessions].some((owner) => isOfSession(metadata.sessionId, owner)))

/** Entries of a file; undefined for a line that is damaged. */
function* entriesIn(
  file: string,
  seal: LineSeal | undefined,
): Generator<readonly [entry: Entry | undefined, line: string]> {
  for (const line of wholeLines(file, seal)) {
    const value = parseJson(line)
    yield [isEntry(value) ? value : undefined, line]
  }
}

/**
 * Goes through our own files and takes out what anybody has forgotten, and versions of turns that have a later one. That
 * way what one machine forgets leaves the files of all others, each at its next turn.
 *
 * @returns the latest version of each turn
 */
function settle(
  { root, seal }: LineFolder,
  writer: string,
  forgotten: ForgottenEntries,
): Map<string, Version> {
  removeHalfRewritten(entriesFolder(root), writer)
  const latest = new Map<string, Version>()
  const files = ownFiles(entriesFolder(root), writer).map((name) => {
    const file = join(entriesFolder(root), name)
    const versions: (readonly [key: string, version: Version])[] = []
    let dead = 0
    for (const [entry] of entriesIn(file, seal)) {
      if (entry === undefined) continue
      if (isDead(entry, forgotten)) {
        dead++
        continue
      }
      const version = versionOf(entry)
      versions.push([entry.key, version])
      const known = latest.get(entry.key)
      if (known === undefined || isLater(version, known)) latest.set(entry.key, version)
    }
    return { file, versions, dead }
  })
  const isLatest = (key: string, version: Version): boolean => {
    const last = latest.get(key)
    return last !== undefined && !isLater(last, version)
  }
  for (const { file, versions, dead } of files) {
    if (dead === 0 && versions.every(([key, version]) => isLatest(key, version))) continue
    const stays = [...entriesIn(file, seal)].filter(
      ([entry]) => entry !== undefined && !isDead(entry, forgotten) && isLatest(entry.key, versionOf(entry)),
    )
    rewriteLines(
      file,
      stays.map(([, line]) => line),
      seal,
    )
  }
  return latest
}

/** The latest version of each turn, whoever wrote it, without what anybody has forgotten. */
function latestEntries(folder: LineFolder) {
  const { root, seal } = folder
  const forgotten = readForgotten(folder)
  const latest = new Map<string, Version & { readonly session: string }>()
  const files = lineFilesIn(entriesFolder(root))
  let damaged = 0
  for (const file of files) {
    for (const [entry] of entriesIn(join(entriesFolder(root), file), seal)) {
      if (entry === undefined) damaged++
      else if (!isDead(entry, forgotten)) {
        const { key, metadata } = entry
        const known = latest.get(key)
        if (known === undefined || isLater(versionOf(entry), known))
          latest.set(key, { ...versionOf(entry), session: metadata.sessionId })
      }
    }
  }
  const named = [...latest.values()].map(({ session }) => session).filter(isPlainSession)
  return {
    damaged,
    count: named.length,
    misnamed: latest.size - named.length,
    sessions: new Set(named).size,
    /** One at a time: a folder may hold more than fits into memory. */
    *entries(): Generator<Entry> {
      const given = new Set<string>()
      for (const file of files) {
        for (const [entry] of entriesIn(join(entriesFolder(root), file), seal)) {
          const last = entry && latest.get(entry.key)
          if (entry === undefined || last === undefined || given.has(entry.key)) continue
          // Several machines may have the same version.
          if (isLater(last, versionOf(entry))) continue
          given.add(entry.key)
          yield entry
        }
      }
    },
  }
}
