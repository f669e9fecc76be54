/** Keeps entries in a folder: a cloud drive, a network share, a git checkout, a stick. No server, no locks. */

import { parseJson } from "../util/json-files.ts"
import { join } from "../util/path.ts"
import { type Backend, type ForgottenThere, isForgottenThere, isOfAny, nameOfEntry } from "./backend.ts"
import { bestEntries } from "./best-entries.ts"
import { type Entry, isBehind, isEntry, isLater, isPlainSession, type Version, versionOf } from "./entry.ts"
import {
  currentFile,
  entriesFolder,
  forgottenFile,
  type LineFolder,
  lineFilesIn,
  ownFiles,
  readForgotten,
  removeHalfRewritten,
} from "./entry-files.ts"
import { isNamed } from "./entry-filter.ts"
import { appendLines, LineCounts, type LineSeal, rewriteLines, wholeLines } from "./line-files.ts"
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
  let own: Map<string, VersionOfSession> | undefined
  /** Whether our files have a version of a turn that has a later one. It may hold what was filled since. */
  let isOutdated = false

  const mended = new LineCounts()

  const ownLatest = (): Map<string, VersionOfSession> => {
    own ??= settle(folder, writer, readForgotten(folder), mended)
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
        if (isForgottenThere(nameOfEntry(entry), forgotten)) refused++
        else if (known === undefined || isLater(versionOf(entry), known)) fresh.set(entry.key, entry)
      }
      const stored = [...fresh.values()]
      isOutdated ||= stored.some(({ key }) => latest.has(key))
      appendLines(
        join(entriesFolder(root), currentFile(entriesFolder(root), writer)),
        stored.map((entry) => JSON.stringify(entry)),
        seal,
      )
      for (const entry of stored) latest.set(entry.key, versionInSession(entry))
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
      own = settle(folder, writer, readForgotten(folder), mended)
      return before - latestEntries(folder).count
    },

    async stats() {
      const { ids, sessions } = readForgotten(folder)
      const { count, damagedIn, misnamed, sessions: named } = latestEntries(folder)
      const damaged = damagedIn.reduce((sum, { lines }) => sum + lines, 0)
      const counts = { entries: count, sessions: named, forgotten: ids.size + sessions.size, damaged }
      return { ...counts, ...(damaged > 0 && { damagedIn }), ...(misnamed > 0 && { misnamed }) }
    },

    async lacking(sent) {
      const forgotten = readForgotten(folder)
      const latest = ownLatest()
      const behind = [...sent].filter(
        (one) => isBehind(latest.get(one.key), one) && !isForgottenThere(one, forgotten),
      )
      if (behind.length === 0) return behind
      // Under another name of this computer, it may be there all the same.
      const all = latestEntries(folder).versions
      return behind.filter((one) => isBehind(all.get(one.key), one))
    },

    async ownThere(_machine, sessions) {
      const forgotten = readForgotten(folder)
      return [...ownLatest()]
        .map(([key, { id, session, messages }]) => ({ key, id, session, messages }))
        .filter((one) => isOfAny(one.session, sessions) && !isForgottenThere(one, forgotten))
    },

    async forgottenThere() {
      const { ids, sessions } = readForgotten(folder)
      return ids.size + sessions.size
    },

    // What cannot be read is taken out of our own files whenever they are settled.
    mend: async () => 0,

    mendedIn: () => mended.files,

    async close() {
      if (isOutdated) settle(folder, writer, readForgotten(folder), mended)
    },
  }
}

interface VersionOfSession extends Version {
  readonly session: string
}

const versionInSession = (entry: Entry): VersionOfSession => ({
  ...versionOf(entry),
  session: entry.metadata.sessionId,
})

/** Entries of a file; undefined for a line that is damaged. */
function* entriesIn(file: string, seal: LineSeal | undefined): Generator<Entry | undefined> {
  for (const line of wholeLines(file, seal)) {
    const value = parseJson(line)
    yield isEntry(value) ? value : undefined
  }
}

/**
 * Goes through our own files and takes out what anybody has forgotten, versions of turns that have a later one, and what
 * cannot be read, which is missing then and is sent again. That way what one machine forgets leaves the files of all
 * others, each at its next turn. Of a copy that a cloud drive has made of one of our files, only what the files lack stays.
 *
 * @returns the latest version of each turn
 */
function settle(
  { root, seal }: LineFolder,
  writer: string,
  forgotten: ForgottenThere,
  mended: LineCounts,
): Map<string, VersionOfSession> {
  removeHalfRewritten(entriesFolder(root), writer)
  const latest = new Map<string, VersionOfSession>()
  const files = ownFiles(entriesFolder(root), writer).map((name) => {
    const file = join(entriesFolder(root), name)
    /** By line; undefined for what must go. */
    const versions: ((Version & Pick<Entry, "key">) | undefined)[] = []
    for (const entry of entriesIn(file, seal)) {
      if (entry === undefined) mended.add(file)
      const isGone = entry === undefined || isForgottenThere(nameOfEntry(entry), forgotten)
      versions.push(isGone ? undefined : { ...versionOf(entry), key: entry.key })
      if (isGone) continue
      const known = latest.get(entry.key)
      if (known === undefined || isLater(versionOf(entry), known))
        latest.set(entry.key, versionInSession(entry))
    }
    return { file, versions }
  })
  const kept = new Set<string>()
  // Copies last: what is in a file of ours need not be in them, too.
  for (const { file, versions } of files.toReversed()) {
    const stays = versions.map((version) => {
      if (version === undefined || isLater(latest.get(version.key)!, version)) return false
      if (kept.has(version.key)) return false
      kept.add(version.key)
      return true
    })
    if (stays.every(Boolean)) continue
    rewriteLines(
      file,
      [...wholeLines(file, seal)].filter((_, n) => stays[n]),
      seal,
    )
  }
  return latest
}

/** The latest version of each turn, whoever wrote it, without what anybody has forgotten. */
function latestEntries(folder: LineFolder) {
  const { root, seal } = folder
  const forgotten = readForgotten(folder)
  const latest = new Map<string, VersionOfSession>()
  const files = lineFilesIn(entriesFolder(root)).map((name) => join(entriesFolder(root), name))
  const damaged = new LineCounts()
  for (const file of files) {
    for (const entry of entriesIn(file, seal)) {
      if (entry === undefined) damaged.add(file)
      else if (!isForgottenThere(nameOfEntry(entry), forgotten)) {
        const known = latest.get(entry.key)
        if (known === undefined || isLater(versionOf(entry), known))
          latest.set(entry.key, versionInSession(entry))
      }
    }
  }
  const named = [...latest.values()].map(({ session }) => session).filter(isPlainSession)
  return {
    damagedIn: damaged.files,
    versions: latest as ReadonlyMap<string, Version>,
    count: named.length,
    misnamed: latest.size - named.length,
    sessions: new Set(named).size,
    /** One at a time: a folder may hold more than fits into memory. */
    *entries(): Generator<Entry> {
      const given = new Set<string>()
      for (const file of files) {
        for (const entry of entriesIn(file, seal)) {
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
