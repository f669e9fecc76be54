/** Ids of sessions as they may be started, written into a file name or sent: no option, no path, no white space. */
export const isPlainId = (id: string): boolean => id.length <= 200 && /^[A-Za-z0-9][\w.-]*$/.test(id)

/** Sessions from another tool's archive (job/import/import-archive.ts), which no agent is ever started with. */
const IMPORTED = /^[A-Za-z0-9][\w-]{0,127}~[a-z][a-z-]{0,30}$/

/**
 * A session's id: its name, if that is one, or else the SHA-256 of the name. Anything may be the name of a file, and an id
 * becomes a word of a command, the name of another file, and a field of what is sent.
 */
export const sessionIdOf = (name: string): string =>
  isPlainId(name) || IMPORTED.test(name)
    ? name
    : new Bun.CryptoHasher("sha256").update(name.toWellFormed()).digest("hex")

/** What the list of all prompts is called as a session: it is archived like a transcript. */
export const HISTORY = "history"

/** Whether it stands for the prompts of a day that name no session. */
export const isDayOfPrompts = (session: string): boolean => /^[\da-f]{8}-\d{4}-\d\d-\d\d$/.test(session)

/** Names of the sessions that hold what the model wants kept; Claude Code's are uuids. */
const PREFIX = "notes-"

/** Pattern for GLOB. */
export const NOTES_SESSIONS = `${PREFIX}*`

export const isNotesSession = (session: string): boolean => session.startsWith(PREFIX)

/** @param project as the archive names it */
export const notesSession = (project: string): string =>
  PREFIX + Bun.hash.xxHash64(project, 0n).toString(16).padStart(16, "0")
