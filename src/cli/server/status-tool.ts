/** `status`: what the archive holds, and whether it is up to date. */

import { tryTo } from "../../base/files.ts"
import { bytes, count } from "../../base/text.ts"
import { askForRebuild } from "../../job/spawn.ts"
import { name } from "../../restore/quote.ts"
import { ReadOnce, readViews, statusWith } from "../../views/archive-status.ts"
import { listSessions, type Session } from "../../views/queries/sessions.ts"
import { DATA, minute, plain } from "./hit-passages.ts"
import type { ServerTool } from "./tool.ts"
import { knownProjectIn } from "./what-is-meant.ts"

const LATEST = 5
const TITLE = 80
const NOTHING = { sessions: 0, turns: 0, messages: 0, projects: 0 }

export const statusTool: ServerTool = {
  name: "status",
  title: "State of the archive",
  description:
    "What the archive holds, in numbers; this project's latest sessions; what is wrong with it, if anything.",
  properties: {},
  readOnly: true,
  run(_args, world) {
    const { dataHome } = world
    using archive = new ReadOnce(dataHome)
    const views = readViews(archive)
    // Whatever is wrong with the views is told as a problem.
    const latest =
      tryTo(() =>
        archive.read((db) =>
          listSessions(db, { project: knownProjectIn(db, world), spoken: true, limit: LATEST }),
        ),
      ) ?? []
    const { totals, behind, database, vault } = statusWith(views, archive, Date.now())
    if (database.lost) askForRebuild(dataHome)
    const problems = [vault.problem, database.problem].filter((one) => one !== null)
    const late = (behind?.vault.transcripts ?? 0) + (behind?.views.transcripts ?? 0)
    const { sessions, turns, messages, projects } = totals ?? NOTHING
    return {
      text: [
        `${count(sessions, "session")}, ${count(turns, "turn")}, ` +
          `${count(messages, "message")} of ${count(projects, "project")}; vault ${bytes(vault.bytes)}.`,
        ...(problems.length === 0 ? [] : [`Problem: ${plain(problems.join("; "), 400)}`]),
        ...(late === 0 ? [] : [`${count(late, "transcript")} not wholly archived and indexed yet.`]),
        ...(latest.length === 0 ? [] : [`Latest sessions of this project. ${DATA}`]),
        ...latest.map(lineOf),
      ].join("\n"),
    }
  },
}

const lineOf = ({ id, ended, turns, title, firstPrompt }: Session): string =>
  `${name(id, 80)} ${minute(ended)} ${count(turns, "turn")} ${JSON.stringify(plain(title ?? firstPrompt ?? "", TITLE))}`
