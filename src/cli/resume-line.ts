/** How a session is resumed, in words. */

import { commandLineOf, typedCommand } from "../agents/agents.ts"
import { tryTo } from "../base/files.ts"
import { bytes, count, shellWord } from "../base/text.ts"
import { openCurrent } from "../views/open-current.ts"
import { folderOf } from "../views/project.ts"
import { projectOfSession } from "../views/queries/projects.ts"
import type { OtherVersion, Resume, Resurrected } from "./pages/put-back-transcript.ts"

/** @param session whose id its agent has made: `unstartable` says of which sessions that is not known */
export function resumeLine({ session, program }: Resurrected, { folder, configDir }: Resume): string {
  const line = commandLineOf(program)!
  const variable = configDir === undefined ? "" : `${line.folderIn}=${shellWord(configDir)} `
  const start = folder === undefined ? "" : `cd ${shellWord(folder)} && `
  return start + variable + typedCommand(line, line.resume!(session))
}

/** Names the versions of a session that it is not resumed with. */
export const versionLines = (session: string, others: readonly OtherVersion[]): string[] => [
  ...others.map(
    ({ path, bytes: size, records, isFuller }) =>
      `${isFuller ? "a fuller" : "another"} version is in the vault: ${count(records, "record")}, ${bytes(size)}, from ${path}`,
  ),
  ...(others.some(({ isFuller }) => isFuller)
    ? [
        `ctxbridge resurrect ${shellWord(session)} --force sets the existing file aside and writes the fuller one`,
      ]
    : []),
  ...(others.length > 0
    ? [`ctxbridge resurrect ${shellWord(session)} --all --to DIR writes all versions`]
    : []),
]

/** The folder of a session's repository as the views know it: they need not be there. */
export const repositoryOf =
  (dataHome: string) =>
  (session: string): string | undefined =>
    tryTo(() => {
      using db = openCurrent(dataHome, "command")
      const found = projectOfSession(db, session)
      return found === null ? undefined : folderOf(found.path)
    })
