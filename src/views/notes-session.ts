/** Names of the sessions that hold what the model wants kept; Claude Code's are uuids. */
const PREFIX = "notes-"

/** Pattern for GLOB. */
export const NOTES_SESSIONS = `${PREFIX}*`

export const isNotesSession = (session: string): boolean => session.startsWith(PREFIX)

/** @param project as the archive names it */
export const notesSession = (project: string): string =>
  PREFIX + Bun.hash.xxHash64(project, 0n).toString(16).padStart(16, "0")
