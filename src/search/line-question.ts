/** What `blame FILE:LINE` and `why FILE:LINE` answer, for commands and for the server. */
import { folderOf } from "../archive/project.ts"
import { existsSync } from "../util/fs.ts"
import { resolve } from "../util/path.ts"
import { type LinesOrigin, originsOfLines } from "./line-origins.ts"
import { type LineReasons, reasonsFor } from "./line-reasons.ts"
import { linesNamed, linesOfFile } from "./lines-named.ts"
import type { Topic } from "./topics.ts"

export interface LinesReason extends LinesOrigin {
  /** Null where the edit is. */
  readonly reasons: LineReasons | null
}

export interface Place {
  readonly folder: string
  readonly home: string
}

/** Whether the words name a line, and no file that is really called so. */
export const namesLine = (text: string, { folder, home }: Place): boolean =>
  linesNamed(text) !== undefined && !existsSync(absolute(text, { folder, home }))

const absolute = (typed: string, { folder, home }: Place): string =>
  typed.startsWith("~/") ? resolve(home, typed.slice(2)) : resolve(folder, typed)

/**
 * @param topic its text is `FILE:LINE` or `FILE:LINE-LINE`
 * @throws CtxError as `linesOfFile`
 */
export function blameLines({ db, dataHome, readers, text, project }: Topic, place: Place): LinesOrigin[] {
  const named = linesNamed(text)!
  const path = absolute(named.file, place)
  const root = project === undefined ? undefined : `${folderOf(project)}/`
  const end = root !== undefined && path.startsWith(root) ? path.slice(root.length) : named.file
  const lines = linesOfFile(path, named)
  return originsOfLines(db, dataHome, readers, { path, end, project, lines })
}

/** @throws CtxError as `linesOfFile` */
export function whyLines(topic: Topic, place: Place): LinesReason[] {
  const { db, dataHome, readers } = topic
  return blameLines(topic, place).map(({ lines, edit }) => {
    const texts = lines.map((one) => one.text)
    return { lines, edit, reasons: edit === null ? null : reasonsFor(db, dataHome, readers, edit, texts) }
  })
}
